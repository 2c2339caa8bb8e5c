// The dependencies between the ops of a measured job's step, and the groups of ops that start together. The rules are
// those of "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI'25): docs/diagnosis.md.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/formats/interchange/timelines/measured_job.hpp"

namespace allreplay {

inline constexpr double seconds_per_ps = 1e-12;

/// In picoseconds (-10 ms): an op that ends longer before its group's start has no length of its own.
inline constexpr double least_own = -1e10;

/// An op, which occurs in every step.
struct JobOp {
  std::uint32_t replica = 0, stage = 0, seq = 0;
  std::int32_t chunk = 0;
  OpKind kind = OpKind::ForwardCompute;
  std::uint16_t part = 0, stream = 0;  ///< as in MeasuredOp, and so is `group`
  std::uint32_t group = 0;
};

/// The ops of a step in topological order, in groups. The members of a group are adjacent, and start together once the
/// dependencies of all of them have ended.
struct JobGraph {
  std::uint32_t replicas = 0, stages = 0;
  std::vector<JobOp> ops;
  std::vector<std::uint32_t> group_first;   ///< by group, the index of its first op; then the number of ops
  std::vector<std::uint32_t> before_first;  ///< by group, the index of its first dependency in `before`; then the end
  std::vector<std::uint32_t> before;        ///< ops that groups depend on
  std::vector<std::uint32_t> group_of;      ///< by op
  std::vector<double> earliest;             ///< by group: 0 if one of its ops has no dependency, else minus infinity

  std::size_t groups() const { return group_first.size() - 1; }
  std::span<const std::uint32_t> followed_by(std::size_t group) const {
    return std::span(before).subspan(before_first[group], before_first[group + 1] - before_first[group]);
  }
};

/// The dependencies of one step of a sharded job, as each rank ran it: lay_out_sharded(). JobGraph has only its ops and
/// groups. Times in picoseconds.
struct ShardedStep {
  std::vector<std::uint32_t> order;         ///< groups, in topological order
  std::vector<std::uint32_t> before_first;  ///< by op, the index of its first dependency in `before`; then the end
  std::vector<std::uint32_t> before;        ///< ops of the same replica
  std::vector<double> gap;  ///< by op, the delay of its start after its dependencies, or without any after the step's
  /// By op without dependencies, its delay after its rank's updates in the step before; empty if the step does not
  /// follow it. `ahead`: from that step's start to this one's.
  std::vector<double> chained_gap;
  double ahead = 0;
  std::vector<double> length;  ///< by op: of a collective, from its last arrival to its first end

  std::span<const std::uint32_t> followed_by(std::size_t op) const {
    return std::span(before).subspan(before_first[op], before_first[op + 1] - before_first[op]);
  }
};

/// The measured times of a job, by step and op. In picoseconds: measured times are whole numbers, so sums are exact.
struct MeasuredSteps {
  JobGraph graph;
  std::vector<std::int64_t> steps;  ///< their numbers in the files
  std::vector<double> start, end;   ///< by step and op, since the step's first start
  std::vector<std::int64_t> ranks;  ///< by stage, then replica
  std::vector<std::string> notes;
  std::string file;                         ///< the first one
  std::vector<CollectiveSize> collectives;  ///< as in MeasuredJob, and so are the next four
  std::map<std::pair<OpKind, std::uint32_t>, CollectiveSize> unit_sizes;
  std::vector<std::string> unit_names, groups;
  std::string precision;
  std::vector<ShardedStep> sharded;  ///< by step; empty unless the job is sharded

  std::size_t worker(std::uint32_t replica, std::uint32_t stage) const {
    return std::size_t{stage} * graph.replicas + replica;
  }
};

/// "forward-compute 3"; in a sharded job "forward-compute of unit 3, micro-batch 0", "unit-reduce 3".
std::string op_name(const MeasuredSteps& job, const JobOp& op);

/// Orders the ops of a job. Throws InputError, naming file, op and worker, unless all workers ran the same ops in all
/// steps, every stage has both computes, sends have receives, and dependencies are not cyclic.
MeasuredSteps lay_out(MeasuredJob job);

/// Returns pairs (before, after) of indices in `ops`, the ops of one worker in one step: the second starts no earlier
/// than the first ends. Empty if there are far more pairs than ops, which no training has: thousands of ops at the end
/// of a step that each depend on thousands. REQUIRES: a forward and a backward compute.
std::vector<std::pair<std::uint32_t, std::uint32_t>> stage_order(std::span<const MeasuredOp> ops);

// The ops of a sharded job (FSDP, ZeRO-3, Megatron's distributed optimizer) and their dependencies: unlike those
// above, read from each rank and step, since when a rank prefetches is up to it. docs/diagnosis.md.

/// True if some op of the job has a kind that only sharded jobs have.
bool is_sharded(const MeasuredJob& job);

/// "backward-compute of unit 3, micro-batch 0", "unit-reduce 3".
std::string sharded_op_name(OpKind kind, std::int32_t chunk, std::uint32_t seq);

/// The stream of an op on its rank. Collectives of different kinds are on different streams, unless the file says
/// which.
std::uint32_t stream_of(const JobOp& op);

/// Lays out the ops of a sharded job. Throws InputError, naming file and op, unless all ranks ran the same ops in all
/// steps, in the same groups, and nothing waits for itself.
MeasuredSteps lay_out_sharded(MeasuredJob job);

}  // namespace allreplay
