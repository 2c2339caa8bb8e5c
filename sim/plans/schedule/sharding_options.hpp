// Options of FSDP, ZeRO and Megatron. Defaults are the frameworks' own; docs/sharding.md lists the exceptions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/core/time.hpp"
#include "sim/base/core/units.hpp"

namespace allreplay {

/// The grouping of layers into units that are sent together.
struct Wrap {
  enum class By : std::uint8_t { Default, Group, Layer, Size, Given };
  By by = By::Default;                     ///< Default: the profile's groups if it has any, else its layers
  Bytes size = 0;                          ///< Size: the smallest size of a unit's parameters
  std::vector<std::uint32_t> begins = {};  ///< Given: the first layer of each unit
  SourceLocation place;                    ///< place of the option, for error messages
};

/// The units that are freed after their forward pass and gathered again for the backward pass.
enum class Reshard : std::uint8_t { ButLast, All, None };

/// When the backward pass gathers a unit: before the previous unit computes, after it has, or only when needed.
enum class BackwardPrefetch : std::uint8_t { Pre, Post, None };

/// The micro-batches that reduce gradients. ReplicasLast: all-reduces among shard groups only in the last one.
enum class Reduce : std::uint8_t { Every, ReplicasLast, Last };

struct FsdpOptions {
  Wrap wrap;
  std::optional<Reshard> reshard;  ///< none: but-last in fsdp2, all in fsdp1
  // fsdp2:
  Reduce reduce = Reduce::Every;
  bool separate_lanes = false;  ///< also simple-fsdp, megatron-fsdp: one communicator for gathers, one for reductions
  std::int64_t prefetch = 1;    ///< units that are gathered ahead
  std::int64_t reduce_buffers = 1;  ///< reductions that may be pending
  std::optional<double> copy;       ///< bytes per second of copies, 0: they take no time; none: copy_of_device
  double copy_of_device = 0;        ///< no option; 0: the device is not known
  bool reorder = true;              ///< simple-fsdp: a compiler pass buckets and moves collectives
  // fsdp1:
  BackwardPrefetch backward_prefetch = BackwardPrefetch::Pre;
  std::int64_t limit = 2;  ///< units that may be gathered in the forward pass
};

/// Sizes in elements.
struct ZeroOptions {
  std::int64_t reduce_bucket = 500'000'000;
  std::optional<bool> overlap_comm;  ///< none: true in zero-3, else false
  // zero-1, zero-2:
  std::int64_t allgather_bucket = 0;  ///< 0: one gather of everything
  bool whole_buckets = true;          ///< all-reduces instead of reduce-scatters
  // zero-3:
  std::int64_t prefetch_bucket = 50'000'000;
  std::int64_t persistence = 100'000;
  std::int64_t max_live = 1'000'000'000;
  std::int64_t max_reuse = 1'000'000'000;
  std::int64_t hpz = 1;            ///< ZeRO++: workers that share a secondary copy of parameters; 1: none
  bool qwz = false;                ///< ZeRO++: gathers are quantised
  bool qgz = false;                ///< ZeRO++: gradients are reduced by quantised all-to-alls, in and between nodes
  std::optional<double> quantise;  ///< bytes per second of quantising; none: it takes no time
  SourceLocation place_of_qwz;     ///< for errors
};

enum class StepOptimizer : std::uint8_t { AsProfiled, Muon };

/// The way in which the ranks that share a matrix compute Muon's update of it.
enum class MuonSpread : std::uint8_t { Gathered, Owned, AllToAll, Replicated };

struct MuonOptions {
  StepOptimizer optimizer = StepOptimizer::AsProfiled;
  std::optional<MuonSpread> spread;  ///< none: gathered if the state is sharded, else replicated
  bool overlap = true;               ///< all-to-all: the next round's matrices travel during Newton-Schulz
};

/// local-sgd and diloco.
struct OuterOptions {
  std::int64_t sync_every = 100;  ///< H: inner steps of a round
  std::int64_t replica = 1;       ///< workers of a replica
  std::int64_t fragments = 1;     ///< P: parts of the model that are averaged in turn
  std::int64_t delay = 0;         ///< inner steps between the launch of an average and its use
  Time outer_update{0};           ///< the outer optimizer's step of the whole model
  std::optional<Bytes> bucket;    ///< none: each tensor separately
  bool quantize = false;          ///< averages travel as 8-bit numbers
  bool backup_on_device = false;
};

struct MegatronOptions {
  std::int64_t bucket_size = 0;  ///< elements; 0: max(40,000,000, 1,000,000·N)
  bool distributed_optimizer = true;
  bool overlap_grad_reduce = true;
  std::optional<bool> overlap_param_gather;  ///< none: true if both options above are
  SourceLocation place;                      ///< of overlap_param_gather, for errors
};

struct MegatronFsdpOptions {
  std::int64_t unit_size = 0;    ///< elements; 0: max(1,000,000,000, twice the mean unit)
  bool double_buffer = false;    ///< one unit is gathered ahead, whatever `unit_size` says
  bool sync_every = false;       ///< each micro-batch ends as the last one does
  bool outer_optimizer = false;  ///< in groups: the optimizer is sharded over all workers
};

}  // namespace allreplay
