// One scenario in, one result out: the only place where a profile, a cluster and a strategy meet a clock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/schedule/strategy.hpp"
#include "sim/training/options.hpp"
#include "sim/training/unroll.hpp"
#include "sim/workload/profile.hpp"
#include "sim/workload/stragglers.hpp"

namespace allreplay {

/// A plan in the place of a strategy's: what a file says.
struct GivenPlan {
  std::string file;
  std::string name;   ///< of the strategy
  Strategy strategy;  ///< a row of its own, called `name`; it reads no options
  Plan plan;
};

struct Scenario {
  Profile profile;
  Cluster cluster;
  Stragglers stragglers;
  std::int64_t workers = 1;
  std::string collective;  ///< "": the cluster's
  std::string fidelity;    ///< "": the cluster's
  const Strategy* strategy = nullptr;
  std::shared_ptr<const GivenPlan> given;  ///< whose strategy `strategy` is, then
  std::optional<CodecCosts> codec;         ///< none: gradients travel as they are
  Options options;
  bool fold = true;   ///< identical workers are simulated once; results do not depend on it
  bool reuse = true;  ///< a collective that runs alone is priced once and reused (detailed fidelities)
  Place place_of_collective, place_of_fidelity, place_of_codec;  ///< where complaints point, if not at the cluster
};

struct Metrics {
  double iteration_s = 0;               ///< the steady period from the start of a backward pass to the next
  double forward_s = 0;                 ///< t_f of a worker that nothing slows
  double backward_s = 0;                ///< t_b, likewise
  double exposed_comm_s = 0;            ///< iteration − forward − backward − codec
  double comm_busy_s = 0;               ///< time per iteration with any block in flight
  double codec_s = 0;                   ///< encoding and decoding on the compute stream of an unslowed worker
  std::int64_t collectives = 0;         ///< started per iteration
  double speedup = 0;                   ///< N·(t_f + t_b) / iteration
  double efficiency = 0;                ///< speedup / N
  std::optional<double> samples_per_s;  ///< N·batch / iteration; none where the batch size is unknown
  std::optional<double> lower_bound_s;  ///< no lossless plan on this collective is faster; none with a codec
  std::int64_t events = 0;              ///< engine events of the whole simulation
};

/// One replayed iteration: when it began on the common clock, and its spans relative to that.
struct Episode {
  Time start{0};
  Timeline timeline;
};

struct Result {
  std::string collective;
  std::string fidelity;
  std::string warning;  ///< about the cluster's costs; "" if none
  Plan plan;
  Metrics metrics;
  // For pictures:
  Unrolled unrolled;
  std::vector<WorkerClass> classes;
  std::vector<Episode> episodes;  ///< the last one or two iterations
};

struct Communication;

/// Replays the plan. Throws InputError for what cannot be simulated, TimeOverflow where the clock ends.
Result simulate(const Scenario& scenario, const Plan& plan);

/// The same on what communication_of() says, prepared for the plan.
Result simulate(const Scenario& scenario, const Plan& plan, const Communication& communication);

/// How many times as long as the profile says the slowest worker takes.
double slowest_factor(const Scenario& scenario);

/// What the last worker to be ready runs.
Profile slowest_profile(const Scenario& scenario);

}  // namespace allreplay
