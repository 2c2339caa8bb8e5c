// Named pipeline schedules: pure functions that return rows of actions. Sources: PyTorch's
// torch/distributed/pipelining/schedules.py, Megatron-Core's pipeline_parallel/schedules.py, and the ZB-H1 patch of
// sail-sg/zero-bubble-pipeline-parallelism.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/base/core/error.hpp"
#include "sim/plans/pipeline/action.hpp"

namespace allreplay {

struct ScheduleRequest {
  std::int64_t ranks = 1;          ///< P
  std::int64_t chunks = 1;         ///< V, per rank
  std::int64_t micro_batches = 1;  ///< M
  /// G of `interleaved` and `zb-h1`: Megatron's microbatch-group-size-per-virtual-pipeline-stage; none: PyTorch's rule.
  std::optional<std::int64_t> microbatch_group;
  /// `interleaved`: each rank runs one more forward pass before its first backward pass, so that neighbours in its row
  /// are of different micro-batches, and can overlap (Megatron-Core's overlap_moe_expert_parallel_comm).
  bool one_more_ahead = false;
  // Places that errors refer to:
  SourceLocation place_of_chunks, place_of_micro_batches, place_of_group;
};

struct ScheduleRow {
  std::string_view name;
  std::string_view summary;
  std::int64_t chunks = 1;  ///< the default of V
  bool any_chunks = false;  ///< V may be larger than the default
  ActionRows (*rows)(const ScheduleRequest& request) = nullptr;
};

std::span<const ScheduleRow> schedules();

/// Throws InputError if the schedule does not exist for these numbers.
ActionRows make_rows(const ScheduleRow& schedule, const ScheduleRequest& request);

}  // namespace allreplay
