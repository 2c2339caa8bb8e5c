// How a model is cut into the chunks of a pipeline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// Layers first … last: PyTorch's stage, Megatron's virtual stage.
struct Chunk {
  LayerId first = 0, last = 0;
  std::uint32_t layers() const { return last - first + 1; }
  bool operator==(const Chunk&) const = default;
};

/// Where the cuts are.
struct StageCut {
  enum class By : std::uint8_t { Balanced, Equal, Given };
  By by = By::Balanced;
  std::vector<std::int64_t> layers = {};  ///< Given: of each chunk
  bool operator==(const StageCut&) const = default;
};

/// "balanced", "equal" or "3,4,3" (also "3/4/3"). Throws InputError.
StageCut parse_cut(const std::string& text, const SourceLocation& place);
std::string write_cut(const StageCut& cut);

/// Cuts the layers, or where they name groups those, into `count` chunks. Balanced: the largest chunk takes as little
/// time as can be, then the smallest as much as can be; then the lists of chunk lengths is lexicographically smallest.
/// Equal: so many units each, the first ones one more where some are left over. Throws InputError at `place` where
/// there are too few, or where the numbers given are not those of the model.
std::vector<Chunk> cut_into_chunks(const Profile& profile, const StageCut& cut, std::int64_t count,
                                   const SourceLocation& place);

/// The chunk's layers as a model of their own: tensors keep their order. `backward`: the times of the pass that makes
/// its gradients, by layer of the whole.
Profile profile_of_chunk(const Profile& whole, const Chunk& chunk, const std::vector<Time>& backward);

/// The first of the chunk's tensors in the whole profile: its tensor t there is first + t.
TensorId first_tensor(const Profile& whole, const Chunk& chunk);

}  // namespace allreplay
