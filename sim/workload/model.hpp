// A DNN without times: layers in forward order and the tensors that they learn. Files: models/*.json.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

/// The product of a shape's extents. REQUIRES: extents above 0. Nothing where it is above 10^12.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape);

/// Reads a model object, from its own file or inline in a profile. Throws InputError.
Model read_model(const Json& json);

}  // namespace allreplay
