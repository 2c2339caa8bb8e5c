// Extracts the steps of one rank of a sharded job from its PyTorch trace: gathers, reductions and computes by unit.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "sim/base/core/units.hpp"
#include "sim/formats/interchange/timelines/rank_traces.hpp"
#include "sim/formats/interchange/timelines/sharded_units.hpp"

namespace allreplay::kineto {

/// Times in nanoseconds.
struct ShardedOp {
  OpKind kind = OpKind::ForwardCompute;
  std::uint32_t unit = 0;   ///< of OtherCollective and Optimizer: a count
  std::uint32_t batch = 0;  ///< micro-batch
  std::uint16_t part = 0;   ///< of a compute: a count
  Interval ran;
  std::uint16_t stream = 0;
  std::string group = {};  ///< what tells its process group from others; "": all ranks
  Bytes bytes = 0;         ///< of the whole buffer; 0: unknown
  std::int64_t workers = 0;

  auto key() const { return std::tuple(kind, batch, unit, part); }
};

struct ShardedRankStep {
  std::int64_t number = 0;
  std::vector<ShardedOp> ops;  ///< by key()
};

struct ShardedTrace : RankTrace<ShardedRankStep> {
  std::vector<std::string> unit_names;
  std::string precision;  ///< of gathered parameters
};

/// Returns the steps with gathers, computes and reductions, without the rank's number. `ranks`: the number of traces of
/// the job. Throws InputError at `file` if there is no step, or a process group does not name its ranks.
ShardedTrace sharded_steps(const Attribution& known, UnitMarks marks, std::int64_t ranks, const SourceLocation& file);

/// Builds a measured job from the traces of its ranks, whose clocks it aligns on the ends of their collectives. Throws
/// InputError if the ranks have no step in common. REQUIRES: at least two traces, with steps.
MeasuredJob sharded_job(std::vector<ShardedTrace> ranks);

}  // namespace allreplay::kineto
