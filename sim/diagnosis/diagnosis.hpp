// What a measured job lost, to whom, and why: what-ifs over its replay. docs/diagnosis.md says what each number is.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/diagnosis/job_replay.hpp"

namespace allreplay {

/// What is slowed down as much as this is called slow.
inline constexpr double straggling = 1.03;

/// A kind as it is asked about: sends and receives of a direction are one, forward-pp-comm or backward-pp-comm.
struct KindAnswer {
  std::string name;
  double slowdown = 1;  ///< S_x: if only these ops took what they did
  double mended = 0;    ///< M_x: the part of the waste that mending them brings back
};

/// Of forward and of backward computes.
struct PassPair {
  double forward = 0, backward = 0;
};

struct Diagnosis {
  MeasuredSteps job;
  JobDurations durations;
  std::vector<double> measured_s, replayed_s, ideal_s;  ///< by step
  double replay_error = 0, launch_slowdown = 1;         ///< 1 − T / measured, measured / T
  double slowdown = 1, waste = 0;
  std::vector<KindAnswer> by_kind;           ///< by name
  std::vector<double> by_replica, by_stage;  ///< S_x
  std::vector<double> by_worker;             ///< by MeasuredSteps::worker()
  std::vector<WorkerPlace> worst_workers;
  std::vector<WorkerPlace> slow_workers;  ///< of these, where mending them is half of the waste: who alone straggles
  double mended_workers = 0, mended_stage = 0;        ///< M_W, M_S
  double mended_computes = 0;                         ///< the same for all forward and backward computes
  std::map<std::string_view, double> critical_share;  ///< by kind
  std::vector<PassPair> stage_compute_s;
  PassPair microbatch_spread;
  double fb_correlation = 0;
  std::vector<WorkerPlace> steadily_slow;  ///< in every step, where workers differ more than their micro-batches do
  std::vector<std::string> suspects;

  double mean_replayed_s() const;
  /// What a step takes once that part of the waste is brought back; at best what the ideal one takes.
  double without_s(double mended) const;
};

/// `progress` is told how much there is to do, and called after each part of it. Throws InputError.
Diagnosis diagnose(MeasuredJob job, const std::function<std::function<void()>(std::size_t)>& progress);

}  // namespace allreplay
