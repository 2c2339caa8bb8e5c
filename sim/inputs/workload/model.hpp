// A DNN without times: its layers in forward order, and their parameter tensors. Files: models/*.json.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/core/json.hpp"

namespace allreplay {

struct ModelTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;           ///< the product of the shape
  std::int64_t fused = 1;              ///< number of equal matrices that it consists of
  std::optional<double> muon_us = {};  ///< Muon's update of all of them
};

struct ModelLayer {
  std::string name;
  std::vector<ModelTensor> tensors;
  std::optional<std::int64_t> forward_macs = {};  ///< multiply-accumulates of one sample, if given
  std::optional<Bytes> activation_bytes = {};     ///< the output of one sample in fp32, if given
  bool frozen = false;                            ///< its tensors are not trained, unless a profile says otherwise
};

struct Model {
  std::string name;
  std::vector<ModelLayer> layers;
  std::string description = {}, source = {}, input = {};  ///< "" if not given
};

/// The product of a shape's extents; nothing if it is above 10^12. REQUIRES: extents above 0.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape);

/// The operations of Muon's five Newton-Schulz iterations (K. Jordan's coefficients) of an m x n matrix, m <= n:
/// 5(4m²n + 2m³). Fused matrices are equal parts of the rows, or else of the columns. REQUIRES: two dimensions.
double newton_schulz_operations(std::span<const std::int64_t> shape, std::int64_t fused = 1);

/// Reads a model object, from its own file or inline in a profile. Throws InputError.
Model read_model(const Json& json);

}  // namespace allreplay
