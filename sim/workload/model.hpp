// A DNN without times: layers in forward order and the tensors that they learn. Files: models/*.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/json.hpp"

namespace allreplay {

struct ModelTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;  ///< the product of the shape
};

struct ModelLayer {
  std::string name;
  std::vector<ModelTensor> tensors;
};

struct Model {
  std::string name;
  std::vector<ModelLayer> layers;
};

/// Reads a model object, from its own file or inline in a trace. Throws InputError.
Model read_model(const Json& json);

}  // namespace allreplay
