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

/// What explains the waste, in the order in which it is said: the suspects, and what their rules do not ask.
struct Finding {
  enum class What { Nobody, Workers, SteadyWorkers, Stage, MicroBatches, Replica, Kind, Sizes, Spread };
  What what = What::Spread;
  double mended = 1;                      ///< the part of the waste that mending it brings back
  std::vector<WorkerPlace> workers = {};  ///< those named
  std::uint32_t number = 0;               ///< of a stage or a replica
  std::string kind = {};                  ///< Kind; Sizes: its ops differ by seq, and not by replica or step
};

inline constexpr Word<Finding::What> finding_words[] = {
    {Finding::What::Nobody, "none"},
    {Finding::What::Workers, "workers"},
    {Finding::What::SteadyWorkers, "workers-in-every-step"},
    {Finding::What::Stage, "stage"},
    {Finding::What::MicroBatches, "micro-batches"},
    {Finding::What::Replica, "replica"},
    {Finding::What::Kind, "kind"},
    {Finding::What::Sizes, "sizes"},
    {Finding::What::Spread, "spread"},
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
  std::vector<double> mended_stages;                  ///< for each stage alone
  std::uint32_t worst_replica = 0;                    ///< by by_replica
  double mended_replica = 0;                          ///< for that one
  std::map<std::string_view, double> critical_share;  ///< by kind
  std::vector<PassPair> stage_compute_s;
  PassPair microbatch_spread;
  double fb_correlation = 0;
  std::vector<WorkerPlace> steadily_slow;  ///< in every step, where workers differ more than their micro-batches do
  double mended_steady = 0;                ///< for those
  std::vector<double> gap_s;               ///< by worker: how much later than they could its ops start, a step
  std::vector<std::string> suspects;
  std::vector<Finding> findings;

  double mean_replayed_s() const;
  /// What a step takes once that part of the waste is brought back; at best what the ideal one takes.
  double without_s(double mended) const;
};

/// `progress` is told how much there is to do, and called after each part of it. Throws InputError.
Diagnosis diagnose(MeasuredJob job, const std::function<std::function<void()>(std::size_t)>& progress);

}  // namespace allreplay
