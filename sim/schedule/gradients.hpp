// The gradients in the order in which the backward pass makes them: what every planner works on.
#pragma once

#include <span>
#include <vector>

#include "sim/schedule/plan.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

struct Gradient {
  TensorId tensor = 0;
  Bytes bytes = 0;
  Time ready{0};  ///< since the start of the backward pass
};

/// Backward order: the output layer first, and within a layer the last tensor first.
std::vector<Gradient> gradients(const Profile& profile);

/// Bytes of an element; 4 in a profile without tensors.
Bytes bytes_of_gradient(const Profile& profile);

/// A block of whole tensors.
Block block_of(std::span<const Gradient> gradients);

/// The schedule whose blocks are runs of consecutive gradients; `ends[i]` is one past the last gradient of block i.
BucketSchedule merge(std::string_view strategy, std::span<const Gradient> gradients, std::span<const std::size_t> ends);

}  // namespace allreplay
