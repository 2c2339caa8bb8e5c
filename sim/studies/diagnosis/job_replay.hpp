// Replays a measured job in which each op takes its own duration or the ideal one of its kind.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/studies/diagnosis/job_graph.hpp"

namespace allreplay {

/// In picoseconds.
struct JobDurations {
  double ideal_of(OpKind kind) const { return ideal[static_cast<std::size_t>(kind)]; }
  double ideal_of(const JobGraph& graph, std::uint32_t op) const {
    return ideal_by_op.empty() ? ideal_of(graph.ops[op].kind) : ideal_by_op[op];
  }

  std::vector<double> own;                    ///< by step and op: the duration without waiting for its group
  std::array<double, op_kind_count> ideal{};  ///< by kind: the mean of computation, the median of other ops
  std::vector<double> ideal_by_op;            ///< of a sharded job, instead of `ideal`
  double ended_early = 0;  ///< share of ops in groups that ended before all of their group had started
};

JobDurations durations_of(const MeasuredSteps& job);

/// A what-if: the selected ops keep their own durations, all others take the ideal of their kind.
struct Question {
  std::uint32_t kinds = ~std::uint32_t{0};  ///< one bit per kind
  std::int64_t replica = -1, stage = -1;    ///< -1: any
  const std::vector<bool>* workers = nullptr;
  bool inverted = false;  ///< selects all ops except those
  // For sharded jobs only:
  std::uint32_t no_time = 0;                ///< kinds whose ops take no time; one bit per kind
  std::int64_t gaps_of = -1, gaps_as = -1;  ///< a replica whose ops take the gaps of another one's; -1: none

  bool keeps(const MeasuredSteps& job, const JobOp& op) const;
};

/// The number of questions that are replayed simultaneously.
inline constexpr std::size_t question_lanes = 8;

/// Returns each step's duration for each question: [question][step]. Calls `advance` rounds_of() times, for progress.
std::vector<std::vector<double>> step_times(const MeasuredSteps& job, const JobDurations& durations,
                                            std::span<const Question> questions, const std::function<void()>& advance);
std::size_t rounds_of(const MeasuredSteps& job, std::size_t questions);

/// Returns each step's duration if only one replica keeps its own durations: [replica][step].
std::vector<std::vector<double>> replica_times(const MeasuredSteps& job, const JobDurations& durations);

/// When the ops of a step start (are ready) and end.
struct ReplayedStep {
  std::vector<double> start, end;  ///< in a sharded job, each member of a group has its own start
  std::uint32_t last = 0;          ///< the op that ends the step
};
ReplayedStep replay_step(const MeasuredSteps& job, std::size_t step,
                         const std::function<double(std::uint32_t)>& duration);
/// REQUIRES: the job is not sharded.
ReplayedStep replay_step(const JobGraph& graph, const std::function<double(std::uint32_t)>& duration);

/// Returns the ops of the critical path, from the step's last op back to its start.
std::vector<std::uint32_t> critical_path(const MeasuredSteps& job, std::size_t step, const ReplayedStep& replayed);

/// Returns the ops that can end a step: the optimizers, if there are any.
std::vector<std::uint32_t> last_ops(const JobGraph& graph);
/// Returns the ops of each replica, in the same order for all.
std::vector<std::vector<std::uint32_t>> ops_by_replica(const JobGraph& graph);

// Replays a measured sharded job. Each rank keeps its gaps: the delay of each op after what it waits for. Steps that
// follow each other are replayed one after the other, so that a rank may be late from one step to the next.

/// The functions above call these for sharded jobs.
JobDurations sharded_durations(const MeasuredSteps& job);
std::vector<std::vector<double>> sharded_times(const MeasuredSteps& job, const JobDurations& durations,
                                               std::span<const Question> questions,
                                               const std::function<void()>& advance);
ReplayedStep replay_sharded_step(const MeasuredSteps& job, std::size_t step,
                                 const std::function<double(std::uint32_t)>& duration);
std::vector<std::uint32_t> sharded_critical_path(const MeasuredSteps& job, std::size_t step,
                                                 const ReplayedStep& replayed);

}  // namespace allreplay
