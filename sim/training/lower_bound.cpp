#include "sim/training/lower_bound.hpp"

#include <algorithm>

namespace allreplay {

LowerBound::LowerBound(const Profile& profile, const std::function<Time(Bytes)>& least)
    : first(profile.tensors.front().layer), all(least(profile.bytes())) {
  Bytes bytes = 0;
  for (const Tensor& tensor : profile.tensors)
    if (tensor.layer == first) bytes += tensor.bytes;
  first_layer = least(bytes);
}

Time LowerBound::computing(Time all_layers, Time layers_before) const {
  return add(all_layers - layers_before, std::max(layers_before, first_layer));
}

Time LowerBound::of(const Profile& slowest) const {
  Time before{0};
  for (LayerId layer = 0; layer < first; ++layer)
    before = add(before, add(slowest.layers[layer].forward, slowest.layers[layer].backward));
  return std::max(computing(add(slowest.forward(), slowest.backward()), before), all);
}

}  // namespace allreplay
