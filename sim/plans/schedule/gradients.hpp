// Gradients in the order in which the backward pass computes them, the input of most planners.
#pragma once

#include <span>
#include <vector>

#include "sim/inputs/workload/profile.hpp"
#include "sim/plans/schedule/plan.hpp"

namespace allreplay {

struct Gradient {
  TensorId tensor = 0;
  Bytes bytes = 0;
  Time ready{0};  ///< since the start of the backward pass
};

/// Returns gradients in backward order: the output layer first, and within a layer the last tensor first. Frozen
/// tensors have none.
std::vector<Gradient> gradients(const Profile& profile);

/// Returns the bytes per element; 4 for a profile without tensors.
Bytes bytes_of_gradient(const Profile& profile);

/// Returns a schedule whose blocks are runs of gradients; `ends[i]` is one past the last gradient of block i.
BucketSchedule merge(std::string_view strategy, std::span<const Gradient> gradients, std::span<const std::size_t> ends);

}  // namespace allreplay
