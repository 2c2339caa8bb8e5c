#include "sim/workload/profile.hpp"

namespace allreplay {

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

std::optional<Bytes> element_bytes(const std::string& precision) {
  if (const Precision* known = row_named(precisions, precision)) return known->bytes;
  return std::nullopt;
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
