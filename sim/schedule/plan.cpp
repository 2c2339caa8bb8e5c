#include "sim/schedule/plan.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

namespace allreplay {

Bytes Block::bytes() const {
  Bytes sum = 0;
  for (const Slice& slice : slices) sum += slice.bytes;
  return sum;
}

LayerId first_layer(const Block& block, const Profile& profile) {
  LayerId first = std::numeric_limits<LayerId>::max();
  for (const Slice& slice : block.slices) first = std::min(first, profile.tensors[slice.tensor].layer);
  return first;
}

LayerId ready_layer(const Plan& plan, const Block& block, const Profile& profile) {
  return plan.release == Release::Backward ? 0 : first_layer(block, profile);
}

std::string to_string(Order order) {
  switch (order) {
    case Order::FirstReady:
      return "first-ready";
    case Order::AsListed:
      return "as-listed";
    case Order::Priority:
      return "priority";
  }
  return "";
}

std::string to_string(Barrier barrier) { return barrier == Barrier::Iteration ? "iteration" : "layer"; }

void require_complete(const Plan& plan, const Profile& profile) {
  std::vector<Slice> slices;
  for (const Block& block : plan.blocks) slices.insert(slices.end(), block.slices.begin(), block.slices.end());
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return a.tensor != b.tensor ? a.tensor < b.tensor : a.offset < b.offset;
  });
  std::size_t next = 0;
  for (TensorId tensor = 0; tensor < profile.tensors.size(); ++tensor) {
    Bytes sent = 0;
    for (; next < slices.size() && slices[next].tensor == tensor; ++next) {
      if (slices[next].offset != sent || slices[next].bytes <= 0)
        throw std::logic_error(fmt::format("{}: bytes of '{}' from {} are sent twice or left out", plan.strategy,
                                           profile.tensors[tensor].name, sent));
      sent += slices[next].bytes;
    }
    if (sent != profile.tensors[tensor].bytes)
      throw std::logic_error(fmt::format("{}: {} of {} B of '{}' are sent", plan.strategy, sent,
                                         profile.tensors[tensor].bytes, profile.tensors[tensor].name));
  }
  if (next != slices.size()) throw std::logic_error(plan.strategy + ": a slice of a tensor that does not exist");
}

}  // namespace allreplay
