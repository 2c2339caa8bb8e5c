// A plan: what travels together, in which order, how much at once, and what the next forward waits for.
// It has no clock: what happens when is the engine's.
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

/// The unit of communication: slices that travel in one collective, admitted once all are ready on every worker.
struct Block {
  std::vector<Slice> slices;
  std::int64_t priority = 0;  ///< for Order::Priority: smaller goes first

  Bytes bytes() const;
};

enum class Barrier : std::uint8_t {
  Iteration,  ///< the first layer's forward waits for all blocks
  Layer,      ///< each layer's forward waits for the blocks that hold a slice of it
};

/// When a block's gradients count as ready.
enum class Release : std::uint8_t {
  Layer,     ///< when its last layer's backward ends
  Backward,  ///< when the whole backward pass ends
};

/// The ways that blocks can travel.
enum class Stages : std::uint8_t {
  AllReduce,  ///< in one stage
  Split,      ///< a reduce-scatter as for an all-reduce, and an all-gather once that and the backward pass have ended;
              ///< reduce-scatters go before all-gathers, each in the plan's order
};

struct Plan {
  std::string strategy;
  std::vector<Block> blocks;
  Order order = Order::FirstReady;
  Window window;
  Barrier barrier = Barrier::Iteration;
  Stages stages = Stages::AllReduce;
  Release release = Release::Layer;
  Time tick{0};  ///< if positive, blocks start only at multiples of it after the start of the backward pass
};

/// The layer nearest to the input that the block holds a gradient of: the last to be ready, the first to be needed.
LayerId first_layer(const Block& block, const Profile& profile);
/// The layer whose backward makes the block ready.
LayerId ready_layer(const Plan& plan, const Block& block, const Profile& profile);

std::string to_string(Order order);
std::string to_string(Barrier barrier);

/// Throws std::logic_error, saying where, unless every byte of every gradient is in exactly one slice.
void require_complete(const Plan& plan, const Profile& profile);

}  // namespace allreplay
