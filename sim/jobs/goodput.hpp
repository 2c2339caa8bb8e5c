// What of a job's time is left as useful, where nodes fail and checkpoints are written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/jobs/reliability.hpp"

namespace allreplay {

/// What one job asks: t, its nodes, and how it would do on fewer.
struct GoodputJob {
  std::int64_t nodes = 1;
  double iteration_s = 0;               ///< > 0
  std::optional<double> samples_per_s;  ///< without failures; none where no batch size is known
  /// Of 1 to nodes: their throughput relative to all. Asked only where the job is elastic.
  std::function<double(std::int64_t)> relative_throughput = {};
};

/// An interval of work, in seconds, and the fraction of the time that is useful with it.
struct IntervalChoice {
  double seconds = 0;
  double useful_fraction = 0;
};

/// What one simulation of failures came to.
struct Operated {
  double useful_fraction = 0;
  std::int64_t failures = 0;
  double waited_s = 0;  ///< from a failure to the next attempt, all together
};

struct Goodput {
  double mtbf_s = 0;  ///< of the job: that of a node by their number
  std::int64_t nodes = 1;
  std::int64_t interval_iterations = 1;
  IntervalChoice chosen, young, daly, optimal;  ///< `chosen` is a whole number of iterations
  Operated simulated;
  std::optional<Operated> elastic;
  std::optional<double> samples_per_s;              ///< useful ones, expected
  std::optional<double> undisturbed_samples_per_s;  ///< if nothing failed
};

/// The part of the time that is useful where each `work` seconds end with a checkpoint: Daly's complete formula (Future
/// Generation Computer Systems 2006, equation 20). `mtbf`: of the job.
double useful_fraction(double work, double mtbf, double checkpoint, double restart);

/// The interval of first order, √(2CM) (Young, Communications of the ACM 1974).
double young_interval(double mtbf, double checkpoint);
/// Of higher order (Daly 2006, equation 37).
double daly_interval(double mtbf, double checkpoint);
/// What makes useful_fraction() largest: M·y with −ln(1 − y) − y = C/M.
double optimal_interval(double mtbf, double checkpoint);

/// How long is simulated, in seconds.
double horizon_of(const Reliability& reliability, std::int64_t nodes);

/// Failures of nodes in use, independent and exponential, until the horizon. `work`: seconds between checkpoints.
/// Deterministic in the seed. REQUIRES: require_possible().
Operated operate(const Reliability& reliability, const GoodputJob& job, double work, bool elastic);

/// Throws InputError at `place` where so many failures would have to be simulated that it never ends.
Goodput goodput_of(const Reliability& reliability, const GoodputJob& job, const SourceLocation& place);

}  // namespace allreplay
