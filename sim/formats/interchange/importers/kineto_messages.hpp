// Sizes of collectives from the arguments of NCCL kernels, and sizes of layers for traces without shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/formats/interchange/importers/importer.hpp"
#include "sim/formats/interchange/importers/kineto_events.hpp"

namespace allreplay {

/// Returns the collective of a kernel; none if its size is unknown, or it is not simulated (all-to-all, send).
std::optional<MeasuredCollective> measured_collective(const KinetoMessage& message, std::int64_t nanoseconds);

/// Returns the bytes of the whole buffer: of a gather after it, of a reduction before it; 0 if unknown.
Bytes whole_bytes(const KinetoMessage& message);

/// A layer in a trace without shapes.
struct ShapelessLayer {
  std::string name;  ///< of the operator: "conv2d"
  std::size_t gradients = 0;
};

/// Returns the elements of each layer's tensors, taken in order from the model's layers with tensors. Throws InputError
/// at `file` if two layers differ in kind or number of gradients.
std::vector<std::vector<std::int64_t>> elements_by_order(std::span<const ShapelessLayer> layers, const Model& model,
                                                         const SourceLocation& file);

}  // namespace allreplay
