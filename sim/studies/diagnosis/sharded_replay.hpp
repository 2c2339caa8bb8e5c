// Replays a measured sharded job. Each rank keeps its gaps: the delay of each op after what it waits for. Steps that
// follow each other are replayed one after the other, so that a rank may be late from one step to the next.
#pragma once

#include "sim/studies/diagnosis/job_replay.hpp"

namespace allreplay {

/// Like the functions of job_replay.hpp, which call these for sharded jobs.
JobDurations sharded_durations(const MeasuredSteps& job);
std::vector<std::vector<double>> sharded_times(const MeasuredSteps& job, const JobDurations& durations,
                                               std::span<const Question> questions,
                                               const std::function<void()>& advance);
ReplayedStep replay_sharded_step(const MeasuredSteps& job, std::size_t step,
                                 const std::function<double(std::uint32_t)>& duration);
std::vector<std::uint32_t> sharded_critical_path(const MeasuredSteps& job, std::size_t step,
                                                 const ReplayedStep& replayed);

}  // namespace allreplay
