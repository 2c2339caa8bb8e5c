// Replays a measured job in which each op takes its own duration or the ideal one of its kind.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/diagnosis/job_graph.hpp"

namespace allreplay {

/// In picoseconds.
struct JobDurations {
  double ideal_of(OpKind kind) const { return ideal[static_cast<std::size_t>(kind)]; }

  std::vector<double> own;                    ///< by step and op: the duration without waiting for its group
  std::array<double, op_kind_count> ideal{};  ///< by kind: the mean of computation, the median of other ops
  double ended_early = 0;  ///< share of ops in groups that ended before all of their group had started
};

JobDurations durations_of(const MeasuredSteps& job);

/// A what-if: the selected ops keep their own durations, all others take the ideal of their kind.
struct Question {
  std::uint32_t kinds = ~std::uint32_t{0};  ///< one bit per kind
  std::int64_t replica = -1, stage = -1;    ///< -1: any
  const std::vector<bool>* workers = nullptr;
  bool inverted = false;  ///< selects all ops except those

  bool keeps(const MeasuredSteps& job, const JobOp& op) const;
};

/// Returns each step's duration for each question: [question][step]. Calls `advance` rounds_of() times, for progress.
std::vector<std::vector<double>> step_times(const MeasuredSteps& job, const JobDurations& durations,
                                            std::span<const Question> questions, const std::function<void()>& advance);
std::size_t rounds_of(const MeasuredSteps& job, std::size_t questions);

/// Returns each step's duration if only one replica keeps its own durations: [replica][step].
std::vector<std::vector<double>> replica_times(const MeasuredSteps& job, const JobDurations& durations);

/// When the ops of a step start (are ready) and end.
struct ReplayedStep {
  std::vector<double> start, end;
  std::uint32_t last = 0;  ///< the op that ends the step
};
ReplayedStep replay_step(const JobGraph& graph, const std::function<double(std::uint32_t)>& duration);

/// Returns the ops of the critical path, from the step's last op back to its start.
std::vector<std::uint32_t> critical_path(const JobGraph& graph, const ReplayedStep& step);

}  // namespace allreplay
