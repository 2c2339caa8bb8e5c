// A DNN without times: layers in forward order and the tensors that they learn. Files: models/*.json.
#pragma once

#include <cstdint>
#include <optional>
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
  std::optional<std::int64_t> forward_macs = {};  ///< multiply-accumulates of one sample, where the file says
  std::optional<Bytes> activation_bytes = {};     ///< the output of one sample in fp32, where the file says
};

struct Model {
  std::string name;
  std::vector<ModelLayer> layers;
  std::string description = {}, source = {}, input = {};  ///< as the file says; "" where it does not
};

/// Reads a model object, from its own file or inline in a trace. Throws InputError.
Model read_model(const Json& json);

}  // namespace allreplay
