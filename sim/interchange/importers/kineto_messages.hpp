// What a kernel of communication carried, and what a model's layers are where a trace does not say their shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/interchange/importers/importer.hpp"
#include "sim/interchange/importers/kineto_events.hpp"

namespace allreplay {

/// The collective of a message, its bytes and its workers; nothing where it is none that is simulated (all-to-all,
/// send) or its size is not known. Its time is the kernel's.
std::optional<MeasuredCollective> measured_collective(const KinetoMessage& message, std::int64_t nanoseconds);

/// A layer as a trace without shapes shows it.
struct ShapelessLayer {
  std::string name;  ///< of the operator: "conv2d"
  std::size_t gradients = 0;
};

/// The elements of each layer's tensors: those of the model's layers with tensors, in order. Throws InputError at
/// `file` where a layer has another number of gradients, or is of another kind than the model's tensors in its place.
std::vector<std::vector<std::int64_t>> elements_by_order(std::span<const ShapelessLayer> layers, const Model& model,
                                                         const SourceLocation& file);

}  // namespace allreplay
