// What most strategies decide: which bytes of gradients travel together, and how, where all blocks travel alike.
// expand() writes a schedule out as a plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/admission.hpp"
#include "sim/core/time.hpp"
#include "sim/core/units.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// Bytes [offset, offset + bytes) of a tensor.
struct Slice {
  TensorId tensor = 0;
  Bytes offset = 0;
  Bytes bytes = 0;
};

/// The unit of communication: slices that travel together, once all are ready on every worker.
struct Block {
  std::vector<Slice> slices;
  std::int64_t priority = 0;  ///< for Order::Priority: smaller goes first
  std::uint32_t tick = 0;     ///< where its lane has ticks: ready at this one, or at a later one

  Bytes bytes() const;
};

/// What the next forward pass waits for.
enum class Barrier : std::uint8_t {
  Iteration,  ///< the first layer for all blocks
  Layer,      ///< each layer for the blocks that hold a slice of it
};

/// When a block's gradients count as ready.
enum class Release : std::uint8_t {
  Layer,     ///< when its last layer's backward ends
  Backward,  ///< when the whole backward pass ends
};

struct QueueingPolicy {
  Order order = Order::FirstReady;
  Window window;
  Barrier barrier = Barrier::Iteration;
  Release release = Release::Layer;
  Time tick{0};        ///< if positive, blocks become ready only at its multiples after the start of the backward pass
  bool split = false;  ///< as a reduce-scatter, and an all-gather once that and the backward pass have ended
};

struct BucketSchedule : QueueingPolicy {
  std::string strategy;
  std::vector<Block> blocks;
};

/// The layer nearest to the input that the block holds a gradient of: the last to be ready, the first to be needed.
LayerId first_layer(const Block& block, const Profile& profile);

}  // namespace allreplay
