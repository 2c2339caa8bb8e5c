// A measured job, replayed: each op with its own duration, or with the ideal one of its kind.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/diagnosis/job_graph.hpp"

namespace allreplay {

/// Picoseconds throughout.
struct JobDurations {
  double ideal_of(OpKind kind) const { return ideal[static_cast<std::size_t>(kind)]; }

  std::vector<double> own;                    ///< by step and op: what it took, without waiting for its group
  std::array<double, op_kind_count> ideal{};  ///< of a kind: the mean of compute, the median of all else
  double ended_early = 0;  ///< the share of the ops in groups that ended before all of their group had started
};

JobDurations durations_of(const MeasuredSteps& job);

/// Which ops of a job keep their own durations, while the others take their kind's ideal.
struct Question {
  std::uint32_t kinds = ~std::uint32_t{0};  ///< a bit for each
  std::int64_t replica = -1, stage = -1;    ///< -1: any
  const std::vector<bool>* workers = nullptr;
  bool inverted = false;  ///< all ops but those

  bool keeps(const MeasuredSteps& job, const JobOp& op) const;
};

/// How long each step takes, for each question: [question][step]. `advance` is called after each of rounds_of(): how
/// far this has come.
std::vector<std::vector<double>> step_times(const MeasuredSteps& job, const JobDurations& durations,
                                            std::span<const Question> questions, const std::function<void()>& advance);
std::size_t rounds_of(const MeasuredSteps& job, std::size_t questions);

/// The same where one replica alone keeps its own durations, for each: [replica][step]. The others, all ideal, are
/// alike, so that two replicas stand for them all.
std::vector<std::vector<double>> replica_times(const MeasuredSteps& job, const JobDurations& durations);

/// When the ops of a step start (are ready) and end, if they take these durations.
struct ReplayedStep {
  std::vector<double> start, end;
  std::uint32_t last = 0;  ///< the op that ends the step
};
ReplayedStep replay_step(const JobGraph& graph, const std::function<double(std::uint32_t)>& duration);

/// From the op that ends a step back to what its group waited for, and so on to the start.
std::vector<std::uint32_t> critical_path(const JobGraph& graph, const ReplayedStep& step);

}  // namespace allreplay
