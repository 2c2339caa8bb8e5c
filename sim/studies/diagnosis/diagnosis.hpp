// Finds the causes of a measured job's slowness by what-if replays. docs/diagnosis.md defines every number.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/diagnosis/exposure.hpp"
#include "sim/studies/diagnosis/job_replay.hpp"

namespace allreplay {

/// From this slowdown on, a worker, stage or job is called slow.
inline constexpr double straggling = 1.03;

/// The what-ifs of a kind. Sends and receives of a direction are one kind, forward-pp-comm or backward-pp-comm.
struct KindAnswer {
  std::string name;
  double slowdown = 1;  ///< S_x: if only these ops keep their measured durations
  double mended = 0;    ///< M_x: the share of the waste recovered if they take the ideal ones
};

/// A value for forward and one for backward computes.
struct PassPair {
  double forward = 0, backward = 0;
};

/// An explanation of the waste: a suspect, or one found by a rule beyond those of the suspects.
struct Finding {
  enum class What { Nobody, Workers, SteadyWorkers, Stage, MicroBatches, Replica, Kind, Sizes, Spread };
  What what = What::Spread;
  double mended = 1;                      ///< the share of the waste that fixing it recovers
  std::vector<WorkerPlace> workers = {};  ///< the workers that it names
  std::uint32_t number = 0;               ///< the stage or replica that it names
  std::string kind = {};  ///< for Kind and Sizes; the ops of Sizes differ by seq, not by replica or step
  /// A mean step if the computes of `workers` took the median of the other replicas'; only of jobs that are not
  /// sharded.
  std::optional<double> as_others_s = {};
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

/// The forward and backward computes of each micro-batch: of a sharded job, the sums over units.
struct PassTimes {
  MeasuredSteps job;        ///< its ops, steps and numbers of workers only
  std::vector<double> own;  ///< by step and op
};

/// A question about a sharded job, and a step's mean length if it were so.
struct WhatIfAnswer {
  std::string what;
  double step_s = 0;
};

struct Diagnosis {
  MeasuredSteps job;
  JobDurations durations;
  std::optional<PassTimes> passes;  ///< of a sharded job, as are the next two
  std::optional<Exposure> exposure;
  std::vector<WhatIfAnswer> what_ifs;
  std::vector<double> measured_s, replayed_s, ideal_s;  ///< by step
  double replay_error = 0, launch_slowdown = 1;         ///< 1 − T / measured, measured / T
  double slowdown = 1, waste = 0;
  std::vector<KindAnswer> by_kind;           ///< by name
  std::vector<double> by_replica, by_stage;  ///< S_x
  std::vector<double> by_worker;             ///< by MeasuredSteps::worker()
  std::vector<WorkerPlace> worst_workers;
  std::vector<WorkerPlace> slow_workers;  ///< those that slow a step down by themselves; empty if M_W is below half
  double mended_workers = 0, mended_stage = 0;        ///< M_W, M_S
  double mended_computes = 0;                         ///< M of all forward and backward computes
  std::vector<double> mended_stages;                  ///< M of each stage
  std::uint32_t worst_replica = 0;                    ///< the slowest in by_replica
  double mended_replica = 0;                          ///< M of worst_replica
  std::map<std::string_view, double> critical_share;  ///< by kind
  std::vector<PassPair> stage_compute_s;
  PassPair microbatch_spread;
  double fb_correlation = 0;
  std::vector<WorkerPlace> steadily_slow;  ///< slow in every step, if workers differ more than micro-batches
  double mended_steady = 0;                ///< M of steadily_slow
  std::vector<double> gap_s;               ///< by worker: total delay of its ops beyond their earliest start, per step
  std::vector<std::string> suspects;
  std::vector<Finding> findings;

  const MeasuredSteps& computes() const { return passes ? passes->job : job; }
  const std::vector<double>& own_computes() const { return passes ? passes->own : durations.own; }
  double mean_replayed_s() const;
  /// The mean step time if this share of the waste is recovered, at most all of it.
  double iteration_without_s(double mended) const;
};

/// `progress` receives the number of rounds of work, and returns the function to call after each. Throws InputError.
Diagnosis diagnose(MeasuredJob job, const std::function<std::function<void()>(std::size_t)>& progress);

/// A cause explains the waste if fixing it recovers at least this share.
inline constexpr double half_of_waste = 0.5;

/// The name of a kind in what-ifs, where sends and receives of a direction are one.
std::string_view question_name(OpKind kind);

/// Count, sum and squared deviations of values, by stage or by worker.
struct Moments {
  std::vector<double> count, sum, squares;  ///< squares: of the deviations from the mean
};

/// Computes moments of some kinds (a bit each) over all steps. `place_of`: an op's stage or worker, below `places`.
template <class Place>
Moments moments(const MeasuredSteps& job, const std::vector<double>& own, std::uint32_t kinds, std::size_t places,
                const Place& place_of) {
  const JobGraph& graph = job.graph;
  const std::vector<double> none(places, 0.0);
  Moments result{none, none, none};
  const auto each = [&](auto&& visit) {
    for (std::size_t i = 0; i < own.size(); ++i)
      if (const JobOp& op = graph.ops[i % graph.ops.size()]; (kinds >> static_cast<unsigned>(op.kind) & 1) != 0)
        visit(place_of(op), own[i]);
  };
  each([&](std::size_t place, double value) {
    result.count[place] += 1;
    result.sum[place] += value;
  });
  each([&](std::size_t place, double value) {
    const double from_mean = value - result.sum[place] / result.count[place];
    result.squares[place] += from_mean * from_mean;
  });
  return result;
}

/// Returns the workers whose computes took longer than their stage's mean, by the factor `straggling`, in every step.
/// Empty if more than half of the variance is within workers, between their micro-batches: if there are few steps, a
/// worker may be slow in all of them by chance.
std::vector<WorkerPlace> slow_in_every_step(const MeasuredSteps& job, const std::vector<double>& own);

/// Returns, by worker, the time of its forward and backward computes divided by the median of the other replicas' of
/// its stage. Empty with one replica.
std::vector<double> compute_ratios(const Diagnosis& known);

/// Returns the same of a whole replica. REQUIRES: several replicas.
double compute_ratio_of_replica(const Diagnosis& known, std::uint32_t replica);

/// Returns, by worker, seconds per step between an op's dependencies and its start; in a group the last start counts,
/// in a sharded job each rank's own.
std::vector<double> gaps_before_ops(const MeasuredSteps& job);

/// REQUIRES: all members above `suspects` are set; for findings_of() also `suspects`.
std::vector<std::string> suspects_of(const Diagnosis& known);
std::vector<Finding> findings_of(const Diagnosis& known);

}  // namespace allreplay
