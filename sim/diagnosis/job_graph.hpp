// The dependencies between the ops of a measured job's step, and the groups of ops that start together. The rules are
// those of "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI'25): docs/diagnosis.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/interchange/timelines/measured_job.hpp"

namespace allreplay {

/// An op, which occurs in every step.
struct JobOp {
  std::uint32_t replica = 0, stage = 0, seq = 0;
  std::int32_t chunk = 0;
  OpKind kind = OpKind::ForwardCompute;
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

/// The measured times of a job, by step and op. In picoseconds: measured times are whole numbers, so sums are exact.
struct MeasuredSteps {
  JobGraph graph;
  std::vector<std::int64_t> steps;  ///< their numbers in the files
  std::vector<double> start, end;   ///< by step and op, since the step's first start
  std::vector<std::int64_t> ranks;  ///< by stage, then replica
  std::vector<std::string> notes;
  std::string file;                         ///< the first one
  std::vector<CollectiveSize> collectives;  ///< as in MeasuredJob

  std::size_t worker(std::uint32_t replica, std::uint32_t stage) const {
    return std::size_t{stage} * graph.replicas + replica;
  }
};

/// Orders the ops of a job. Throws InputError, naming file, op and worker, unless all workers ran the same ops in all
/// steps, every stage has both computes, sends have receives, and dependencies are not cyclic.
MeasuredSteps lay_out(MeasuredJob job);

}  // namespace allreplay
