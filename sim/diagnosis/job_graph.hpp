// What waits for what in a measured job: the ops of a step, and which start together. The rules are those of
// "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI'25): docs/diagnosis.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/interchange/timelines/measured_job.hpp"

namespace allreplay {

/// An op of every step.
struct JobOp {
  std::uint32_t replica = 0, stage = 0, seq = 0;
  std::int32_t chunk = 0;
  OpKind kind = OpKind::ForwardCompute;
};

/// The ops of a step, so ordered that none stands before what it waits for, and groups, whose members start together
/// once all that any of them follows has ended, stand side by side.
struct JobGraph {
  std::uint32_t replicas = 0, stages = 0;
  std::vector<JobOp> ops;
  std::vector<std::uint32_t> group_first;   ///< where each group's members start among ops, and the end
  std::vector<std::uint32_t> before_first;  ///< where what a group follows starts in `before`, and the end
  std::vector<std::uint32_t> before;        ///< ops
  std::vector<std::uint32_t> group_of;      ///< by op
  std::vector<double> earliest;  ///< of each group: 0 where one of its ops follows nothing, else minus infinity

  std::size_t groups() const { return group_first.size() - 1; }
  std::span<const std::uint32_t> followed_by(std::size_t group) const {
    return std::span(before).subspan(before_first[group], before_first[group + 1] - before_first[group]);
  }
};

/// A job as measured, laid out by the graph's ops. Times in picoseconds: whole numbers where they were measured, so
/// that sums are exact.
struct MeasuredSteps {
  JobGraph graph;
  std::vector<std::int64_t> steps;  ///< as the files number them
  std::vector<double> start, end;   ///< by step and op, from the step's first start
  std::vector<std::int64_t> ranks;  ///< by stage, then replica
  std::vector<std::string> notes;
  std::string file;                         ///< the first
  std::vector<CollectiveSize> collectives;  ///< as MeasuredJob has them

  std::size_t worker(std::uint32_t replica, std::uint32_t stage) const {
    return std::size_t{stage} * graph.replicas + replica;
  }
};

/// Checks that all workers ran the same ops in all steps. Throws InputError, naming file, op and worker: an op twice,
/// or lacking; a stage without forward or backward compute; sends without their receives; ops that wait for each other.
MeasuredSteps lay_out(MeasuredJob job);

}  // namespace allreplay
