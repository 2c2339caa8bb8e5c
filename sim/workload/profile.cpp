#include "sim/workload/profile.hpp"

#include <algorithm>

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

bool Profile::has_activations() const {
  return std::any_of(layers.begin(), layers.end(), [](const Layer& one) { return one.activation_bytes.has_value(); });
}

bool Profile::has_experts() const {
  return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& one) { return layers[one.layer].expert; });
}

std::vector<Time> Profile::weight_times() const {
  std::vector<Time> times;
  for (const Layer& layer : layers) times.push_back(layer.backward_weight.value_or(Time(0)));
  for (const Tensor& tensor : tensors)
    if (const Layer& layer = layers[tensor.layer]; !layer.backward_weight)
      times[tensor.layer] = scaled(layer.backward, 0.5);
  return times;
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

void scale_parallel_parts(Layer& layer, double bytes, double times) {
  const auto more = [&](Bytes one) { return static_cast<Bytes>(static_cast<double>(one) * bytes + 0.5); };
  if (layer.output_bytes) layer.output_bytes = more(*layer.output_bytes);
  for (LayerCollective& one : layer.collectives) one.bytes = more(one.bytes);
  if (layer.backward_weight) layer.backward_weight = std::min(scaled(*layer.backward_weight, times), layer.backward);
}

Profile slowed(const Profile& profile, double factor) {
  Profile slow = profile;
  for (Layer& layer : slow.layers) {
    layer.forward = scaled(layer.forward, factor);
    layer.backward = scaled(layer.backward, factor);
    scale_parallel_parts(layer, 1, factor);
  }
  if (slow.update) slow.update = scaled(*slow.update, factor);
  return slow;
}

}  // namespace allreplay
