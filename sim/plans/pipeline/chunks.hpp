// Cuts a model into the chunks of a pipeline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/plans/schedule/plan.hpp"

namespace allreplay {

/// A stage in PyTorch, a virtual stage in Megatron.
using Chunk = Unit;

/// The rule for placing the cuts.
struct StageCut {
  enum class By : std::uint8_t { Balanced, Equal, Given };
  By by = By::Balanced;
  std::vector<std::int64_t> layers = {};  ///< Given: layers per chunk
  bool operator==(const StageCut&) const = default;
};

/// Parses "balanced", "equal" or "3,4,3" (also "3/4/3"). Throws InputError.
StageCut parse_cut(const std::string& text, const SourceLocation& place);
std::string write_cut(const StageCut& cut);

/// Cuts the model into `count` chunks of consecutive units. A unit is a layer or, if layers name groups, a group.
/// Balanced: minimises the time of the slowest chunk, then maximises the time of the fastest, then takes the
/// lexicographically smallest list of chunk lengths. Equal: the same number of units per chunk, and one more in each of
/// the first chunks if some remain. Throws InputError at `place` if there are fewer units than chunks, or if the given
/// numbers do not match `count` and the model's layers.
std::vector<Chunk> cut_into_chunks(const Profile& profile, const StageCut& cut, std::int64_t count,
                                   const SourceLocation& place);

/// Returns the chunk's layers as a separate model, its tensors in the same order. `backward` holds, for each layer of
/// the whole model, the time of the pass that computes the gradients.
Profile profile_of_chunk(const Profile& whole, const Chunk& chunk, const std::vector<Time>& backward);

/// Returns the chunk's first tensor in the whole profile: tensor t of the chunk is tensor first + t there.
TensorId first_tensor(const Profile& whole, const Chunk& chunk);

}  // namespace allreplay
