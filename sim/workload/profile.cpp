#include "sim/workload/profile.hpp"

#include <map>

namespace allreplay {

std::string to_string(Origin origin) {
  switch (origin) {
    case Origin::Measured:
      return "measured";
    case Origin::Imported:
      return "imported";
    case Origin::Reconstructed:
      return "reconstructed";
    case Origin::Estimated:
      return "estimated";
  }
  return "";
}

Time Profile::forward() const {
  Time sum{0};
  for (const Layer& layer : layers) sum = add(sum, layer.forward);
  return sum;
}

Time Profile::backward() const {
  Time sum{0};
  for (const Layer& layer : layers) sum = add(sum, layer.backward);
  return sum;
}

Bytes Profile::bytes() const {
  Bytes sum = 0;
  for (const Tensor& tensor : tensors) sum += tensor.bytes;
  return sum;
}

// Mixed precision in fp16 or bf16 communicates two bytes (MG-WFBP, section 5.3).
std::optional<Bytes> element_bytes(const std::string& precision) {
  static const std::map<std::string, Bytes> bytes{{"fp32", 4}, {"tf32", 4}, {"fp16", 2}, {"bf16", 2}};
  const auto found = bytes.find(precision);
  if (found == bytes.end()) return std::nullopt;
  return found->second;
}

Profile slowed(const Profile& profile, double factor) {
  Profile slow = profile;
  for (Layer& layer : slow.layers) {
    layer.forward = scaled(layer.forward, factor);
    layer.backward = scaled(layer.backward, factor);
  }
  if (slow.update) slow.update = scaled(*slow.update, factor);
  return slow;
}

}  // namespace allreplay
