#include "sim/plans/schedule/dear.hpp"

#include <algorithm>

#include "sim/plans/schedule/gradients.hpp"

namespace allreplay {

BucketSchedule schedule_dear(const PlanRequest& request) {
  const auto list = gradients(request.profile);
  const Bytes threshold = request.options.threshold.value_or(dear_threshold);
  const auto layer_of = [&](std::size_t i) { return request.profile.tensors[list[i].tensor].layer; };
  // The list is in backward order, so forward order starts at its end. A group has at least one layer.
  std::vector<std::size_t> ends{list.size()};
  Bytes bytes = 0;
  for (std::size_t end = list.size(); end > 0;) {
    std::size_t first = end - 1;
    Bytes layer = list[first].bytes;
    while (first > 0 && layer_of(first - 1) == layer_of(end - 1)) layer += list[--first].bytes;
    if (bytes > 0 && layer >= threshold - bytes) {
      ends.push_back(end);
      bytes = 0;
    }
    bytes += layer;
    end = first;
  }
  std::reverse(ends.begin(), ends.end());
  BucketSchedule schedule = merge("dear", list, ends);
  // The last gradient of a block is the nearest to the input. Reduce-scatters become ready in the order of the list and
  // go before every all-gather; since one block is sent at a time, gathers wait for all of them.
  for (Block& block : schedule.blocks) block.priority = request.profile.tensors[block.slices.back().tensor].layer;
  schedule.order = Order::Priority;
  schedule.barrier = Barrier::Layer;
  schedule.split = true;
  return schedule;
}

}  // namespace allreplay
