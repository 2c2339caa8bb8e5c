// What users of FSDP, ZeRO and Megatron may set. Defaults are the frameworks' own, but where docs/sharding.md says so.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/core/units.hpp"

namespace allreplay {

/// Which layers travel together.
struct Wrap {
  enum class By : std::uint8_t { Default, Group, Layer, Size, Given };
  By by = By::Default;                     ///< the profile's groups if it has any, else its layers
  Bytes size = 0;                          ///< Size: of a unit's parameters, at least
  std::vector<std::uint32_t> begins = {};  ///< Given: the layers with which units begin
  SourceLocation place;                    ///< where a complaint points
};

/// Which units are freed after their forward pass, and gathered again for the backward pass.
enum class Reshard : std::uint8_t { ButLast, All, None };

/// When a unit of the backward pass is gathered: before the one before it computes, or after that.
enum class BackwardPrefetch : std::uint8_t { Pre, Post, None };

/// In which micro-batches gradients are reduced. ReplicasLast: reduce-scatters in every one, the all-reduces among
/// shard groups in the last one only.
enum class Reduce : std::uint8_t { Every, ReplicasLast, Last };

struct FsdpOptions {
  Wrap wrap;
  std::optional<Reshard> reshard;  ///< but-last in fsdp2, all in fsdp1
  // fsdp2:
  Reduce reduce = Reduce::Every;
  bool separate_lanes = false;      ///< a communicator for gathers, and one for reductions
  std::int64_t prefetch = 1;        ///< gathers ahead
  std::int64_t reduce_buffers = 1;  ///< reductions behind
  std::optional<double> copy;       ///< of the copies, bytes per second; none: they take no time
  // fsdp1:
  BackwardPrefetch backward_prefetch = BackwardPrefetch::Pre;
  std::int64_t limit = 2;  ///< of units gathered in the forward pass
};

/// Sizes in elements.
struct ZeroOptions {
  std::int64_t reduce_bucket = 500'000'000;
  std::optional<bool> overlap_comm;  ///< true in zero-3, else false
  // zero-1, zero-2:
  std::int64_t allgather_bucket = 0;  ///< 0: everything in one
  bool whole_buckets = true;          ///< all-reduces, not reduce-scatters
  // zero-3:
  std::int64_t prefetch_bucket = 50'000'000;
  std::int64_t persistence = 100'000;
  std::int64_t max_live = 1'000'000'000;
  std::int64_t max_reuse = 1'000'000'000;
};

struct MegatronOptions {
  std::int64_t bucket_size = 0;  ///< elements; 0: max(40,000,000, 1,000,000·N)
  bool distributed_optimizer = true;
  bool overlap_grad_reduce = true;
  std::optional<bool> overlap_param_gather;  ///< true where both of these are
  SourceLocation place;                      ///< of the last one, where a complaint points
};

}  // namespace allreplay
