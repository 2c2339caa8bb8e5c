#include "sim/workload/profile.hpp"

namespace allreplay {

std::vector<std::int64_t> shape_of(const Tensor& tensor) {
  return tensor.shape.empty() ? std::vector{tensor.elements} : tensor.shape;
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

std::int64_t Profile::elements() const {
  std::int64_t sum = 0;
  for (const Tensor& tensor : tensors) sum += tensor.elements;
  return sum;
}

double Profile::parameter_share() const {
  if (parameter_bytes == 0 || tensors.empty()) return 1;
  return static_cast<double>(parameter_bytes * tensors.front().elements) / static_cast<double>(tensors.front().bytes);
}

bool Profile::tells_activations() const {
  return std::any_of(layers.begin(), layers.end(), [](const Layer& one) { return one.activation_bytes.has_value(); });
}

Profile with_element_bytes(Profile profile, std::optional<Bytes> gradient, std::optional<Bytes> parameter) {
  if (profile.tensors.empty()) return profile;
  const Bytes own = profile.tensors.front().bytes / profile.tensors.front().elements;
  profile.parameter_bytes = parameter.value_or(own);
  for (Tensor& tensor : profile.tensors)
    if (gradient) tensor.bytes = tensor.elements * *gradient;
  return profile;
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
