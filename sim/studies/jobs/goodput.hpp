// Goodput: the useful fraction of a job's time if nodes fail and checkpoints are written (docs/goodput.md).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/studies/experiment/request.hpp"
#include "sim/studies/experiment/run.hpp"
#include "sim/studies/jobs/reliability.hpp"

namespace allreplay {

/// The job: its nodes, its iteration time, and its throughput on fewer nodes.
struct GoodputJob {
  std::int64_t nodes = 1;
  double iteration_s = 0;               ///< > 0
  std::optional<double> samples_per_s;  ///< without failures; none if the batch size is unknown
  /// Returns the throughput on 1 to `nodes` nodes, relative to all. Called only if the job is elastic.
  std::function<double(std::int64_t)> relative_throughput = {};
};

/// Seconds of work between two checkpoints, and the resulting useful fraction of the time.
struct IntervalChoice {
  double seconds = 0;
  double useful_fraction = 0;
};

/// The result of one simulation of failures.
struct Operated {
  double useful_fraction = 0;
  std::int64_t failures = 0;
  double waited_s = 0;  ///< total, from a failure to the next attempt
};

struct Goodput {
  double mtbf_s = 0;  ///< of the job: a node's, divided by the number of nodes
  std::int64_t nodes = 1;
  std::int64_t interval_iterations = 1;
  IntervalChoice chosen, young, daly, optimal;  ///< `chosen` is a whole number of iterations
  Operated simulated;
  std::optional<Operated> elastic;
  std::optional<double> samples_per_s;              ///< useful samples, expected
  std::optional<double> undisturbed_samples_per_s;  ///< if nothing failed
};

/// Returns the useful fraction of the time if each `work` seconds end with a checkpoint: Daly's complete formula
/// (Future Generation Computer Systems 2006, equation 20). `mtbf` is the job's.
double useful_fraction(double work, double mtbf, double checkpoint, double restart);

/// The first-order optimum √(2CM) (Young, Communications of the ACM 1974).
double young_interval(double mtbf, double checkpoint);
/// The higher-order optimum (Daly 2006, equation 37).
double daly_interval(double mtbf, double checkpoint);
/// The interval that maximises useful_fraction(): M·y with −ln(1 − y) − y = C/M.
double optimal_interval(double mtbf, double checkpoint);

/// The simulated time in seconds; by default 1000 times the job's mean time between failures.
double horizon_of(const Reliability& reliability, std::int64_t nodes);

/// Simulates failures of the nodes in use, independent and exponential, until the horizon. `work`: seconds between
/// checkpoints. Deterministic in the seed. REQUIRES: require_possible().
Operated operate(const Reliability& reliability, const GoodputJob& job, double work, bool elastic);

/// Throws InputError at `place` if more than ten million failures would have to be simulated.
Goodput goodput_of(const Reliability& reliability, const GoodputJob& job, const SourceLocation& place);

/// The useful share of the job's time: by the formula, which assumes a spare whenever one is needed; if spares can run
/// out, by the simulation.
double useful_share(const Goodput& goodput, const Reliability& reliability);

/// The number of nodes: of a two-level cluster, or of a topology's machines; otherwise every worker is a node.
std::int64_t nodes_of_job(const Scenario& scenario);

/// Makes a goodput job. `outcome` is the result of `request`. Throughputs on fewer nodes are simulated on demand, which
/// throws InputError if strategy or collective do not allow so few workers. `watch`: counts these simulations, at most
/// one for each smaller number of nodes. REQUIRES: the library outlives the result.
GoodputJob goodput_job(Library& library, const Request& request, const Outcome& outcome, const Watch& watch = {});

}  // namespace allreplay
