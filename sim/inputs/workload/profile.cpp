#include "sim/inputs/workload/profile.hpp"

#include <algorithm>

namespace allreplay {

std::vector<std::int64_t> shape_of(const Tensor& tensor) {
  return tensor.shape.empty() ? std::vector{tensor.elements} : tensor.shape;
}

namespace {

template <class TimeOf>
Time sum_over(const std::vector<Layer>& layers, TimeOf time_of) {
  Time sum{0};
  for (const Layer& layer : layers) sum = add(sum, time_of(layer));
  return sum;
}

std::int64_t sum_of_trained(const Profile& profile, std::int64_t Tensor::*part) {
  std::int64_t sum = 0;
  for (const Tensor& tensor : profile.tensors)
    if (!profile.layers[tensor.layer].frozen) sum += tensor.*part;
  return sum;
}

}  // namespace

Time Profile::forward() const {
  return sum_over(layers, [](const Layer& layer) { return layer.forward; });
}

Time Profile::backward() const {
  return sum_over(layers, [](const Layer& layer) { return layer.backward; });
}

Time Profile::waiting() const {
  return sum_over(layers, [](const Layer& layer) { return add(layer.forward_wait, layer.backward_wait); });
}

Bytes Profile::bytes() const { return sum_of_trained(*this, &Tensor::bytes); }

std::int64_t Profile::elements() const { return sum_of_trained(*this, &Tensor::elements); }

std::int64_t Profile::elements_with_frozen() const {
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

bool Profile::has_frozen() const {
  return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& one) { return layers[one.layer].frozen; });
}

std::vector<bool> Profile::has_gradients() const {
  std::vector<bool> has(layers.size(), false);
  for (const Tensor& tensor : tensors) has[tensor.layer] = !layers[tensor.layer].frozen;
  return has;
}

bool Profile::needs_backward(LayerId first, LayerId last) const {
  for (LayerId layer = first; layer <= last; ++layer)
    if (layers[layer].backward > Time(0)) return true;
  auto tensor = std::lower_bound(tensors.begin(), tensors.end(), first,
                                 [](const Tensor& one, LayerId layer) { return one.layer < layer; });
  const bool none = tensor == tensors.end() || tensor->layer > last;
  for (; tensor != tensors.end() && tensor->layer <= last; ++tensor)
    if (!layers[tensor->layer].frozen) return true;
  return none;
}

std::vector<Time> Profile::weight_times() const {
  std::vector<Time> times;
  for (const Layer& layer : layers) times.push_back(layer.backward_weight.value_or(Time(0)));
  for (const Tensor& tensor : tensors)
    if (const Layer& layer = layers[tensor.layer]; !layer.backward_weight && !layer.frozen)
      times[tensor.layer] = scaled(layer.backward - layer.backward_wait, 0.5);
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (times[i] > Time(0)) times[i] = add(times[i], layers[i].backward_wait);
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

void scale_computing(Layer& layer, double factor, const LayerStarts& starts) {
  const auto more = [factor](Time time, Time start) { return add(scaled(time - start, factor), start); };
  layer.forward = more(layer.forward, starts.forward);
  layer.backward = more(layer.backward, starts.backward);
  if (layer.backward_weight)
    layer.backward_weight =
        std::min(more(*layer.backward_weight, std::min(starts.weights, *layer.backward_weight)), layer.backward);
}

void set_block_floor(Profile& profile, Time forward) {
  HostFloors& host = profile.host;
  const bool known = host.block_forward > Time(0);
  const double ratio =
      known ? to_seconds(host.block_backward) / to_seconds(host.block_forward) : (profile.recompute == "full" ? 3 : 2);
  host.block_forward = forward;
  host.block_backward = scaled(forward, ratio);
}

Profile without_host_floors(Profile profile) {
  for (Layer& layer : profile.layers) {
    layer.forward -= layer.forward_wait;
    layer.backward -= layer.backward_wait;
    layer.forward_wait = layer.backward_wait = Time(0);
  }
  return profile;
}

Profile with_host_floors(Profile profile) {
  if (!profile.host.of_blocks()) return profile;
  profile = without_host_floors(std::move(profile));
  std::vector<Layer>& layers = profile.layers;
  for (std::size_t first = 0, end = 0; first < layers.size(); first = end) {
    Time forward{0}, backward{0};
    do {
      forward = add(forward, layers[end].forward);
      backward = add(backward, layers[end].backward);
      ++end;
    } while (end < layers.size() && !layers[first].group.empty() && layers[end].group == layers[first].group);
    // The last layer of a block ends its forward pass, its first layer the backward pass.
    layers[end - 1].forward_wait = std::max(profile.host.block_forward - forward, Time(0));
    if (profile.needs_backward(static_cast<LayerId>(first), static_cast<LayerId>(end - 1)))
      layers[first].backward_wait = std::max(profile.host.block_backward - backward, Time(0));
  }
  for (Layer& layer : layers) {
    layer.forward = add(layer.forward, layer.forward_wait);
    layer.backward = add(layer.backward, layer.backward_wait);
  }
  return profile;
}

Profile slowed(const Profile& profile, double factor) {
  const bool floors = profile.host.of_blocks();
  Profile slow = floors ? without_host_floors(profile) : profile;
  for (Layer& layer : slow.layers) {
    layer.forward = scaled(layer.forward, factor);
    layer.backward = scaled(layer.backward, factor);
    scale_parallel_parts(layer, 1, factor);
  }
  if (slow.update) slow.update = scaled(*slow.update, factor);
  return floors ? with_host_floors(std::move(slow)) : slow;
}

}  // namespace allreplay
