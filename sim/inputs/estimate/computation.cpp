#include "sim/inputs/estimate/computation.hpp"

#include <algorithm>

namespace allreplay {

bool Computation::has_experts() const {
  return std::any_of(layers.begin(), layers.end(), [](const ComputationLayer& layer) { return layer.expert; });
}

std::int64_t Computation::parameters() const {
  std::int64_t sum = 0;
  for (const ComputationLayer& layer : layers)
    for (const ModelTensor& tensor : layer.model.tensors) sum += tensor.elements;
  return sum;
}

std::int64_t Computation::trained_parameters() const {
  std::int64_t sum = 0;
  for (const ComputationLayer& layer : layers)
    for (const ModelTensor& tensor : layer.model.tensors) sum += layer.frozen ? 0 : tensor.elements;
  return sum;
}

Model Computation::model() const {
  Model model;
  model.name = name;
  model.description = description;
  model.source = source;
  model.input = input;
  for (const ComputationLayer& layer : layers) model.layers.push_back(layer.model);
  return model;
}

std::int64_t tokens_of(const std::string& input) {
  const std::size_t digits = input.find_first_not_of("0123456789");
  if (digits == 0 || digits > 12 || input.substr(digits) != " tokens") return 0;
  return std::stoll(input.substr(0, digits));
}

}  // namespace allreplay
