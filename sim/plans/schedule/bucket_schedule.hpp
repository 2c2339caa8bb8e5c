// The decision of most strategies: which gradients are sent together as blocks, and one queueing policy for all blocks.
// expand() makes a plan of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/core/admission.hpp"
#include "sim/base/core/time.hpp"
#include "sim/base/core/units.hpp"
#include "sim/inputs/workload/profile.hpp"

namespace allreplay {

/// Bytes [offset, offset + bytes) of a tensor.
struct Slice {
  TensorId tensor = 0;
  Bytes offset = 0;
  Bytes bytes = 0;
  bool operator==(const Slice&) const = default;
};

/// The unit of communication: slices that are sent together once all are ready on every worker.
struct Block {
  std::vector<Slice> slices;
  std::int64_t priority = 0;  ///< for Order::Priority: smaller goes first
  std::uint32_t tick = 0;     ///< if its lane has ticks: the first one at which it may be ready
  bool operator==(const Block&) const = default;

  Bytes bytes() const;
};

/// The rule by which the next forward pass waits for blocks.
enum class Barrier : std::uint8_t {
  Iteration,  ///< its first layer waits for all blocks
  Layer,      ///< each layer waits for the blocks that hold a slice of it
};

/// The instant at which a block's gradients become ready.
enum class Release : std::uint8_t {
  Layer,     ///< the end of the last backward task among its layers
  Backward,  ///< the end of the whole backward pass
};

struct QueueingPolicy {
  Order order = Order::FirstReady;
  Window window;
  Barrier barrier = Barrier::Iteration;
  Release release = Release::Layer;
  Time tick{0};  ///< if positive, blocks become ready only at multiples of it after the start of the backward pass
  bool split = false;  ///< a reduce-scatter, then an all-gather after it and the backward pass have ended
};

struct BucketSchedule : QueueingPolicy {
  std::string strategy;
  std::vector<Block> blocks;
};

/// Returns the block's layer nearest to the input: the last one ready, and the first one needed.
LayerId first_layer(const Block& block, const Profile& profile);

}  // namespace allreplay
