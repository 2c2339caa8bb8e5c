// One scenario in, one result out: the only place where a profile, a cluster and a strategy meet a clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/collective/collective_file.hpp"
#include "sim/core/shared.hpp"
#include "sim/network/fidelity.hpp"
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

/// What is known of the device that a profile names.
struct KnownDevice {
  std::string name;
  Bytes memory = 0;
};

struct Scenario {
  Shared<Profile> profile;
  Cluster cluster;
  Stragglers stragglers;
  std::int64_t workers = 1;
  std::string collective;                 ///< "": the cluster's
  std::optional<CollectiveOp> operation;  ///< asked of the collective alone; none: what it does by itself
  std::map<std::string, std::shared_ptr<const CollectiveFile>> collective_files;  ///< by name, of those that are files
  std::string fidelity;                                                           ///< "": the cluster's
  const Strategy* strategy = nullptr;
  std::shared_ptr<const GivenPlan> given;  ///< whose strategy `strategy` is, then
  std::optional<CodecCosts> codec;         ///< none: gradients travel as they are
  std::optional<KnownDevice> device;       ///< none: unknown
  std::optional<double> peak;              ///< FLOP/s of a worker in the profile's precision; none: unknown
  Options options;
  bool fold = true;       ///< identical workers are simulated once; results do not depend on it
  bool in_words = false;  ///< the options are those that the words of the strategy's framework mean
  std::shared_ptr<const Topology> laid_on = nullptr;  ///< rank i sits on its host i; none: as the cluster's file says
  bool reuse = true;  ///< a collective that runs alone is priced once and reused (detailed fidelities)
  bool parts = true;  ///< the parts of an iteration, which take further replays; else stragglers count as exposed, and
                      ///< all that a rank of a pipeline does not compute as bubble
  SourceLocation place_of_collective, place_of_fidelity,
      place_of_codec;                     ///< where complaints point, if not at the cluster
  SourceLocation place_of_workers = {};   ///< who says how many; empty: nobody but the cluster
  std::function<void()> after_iteration;  ///< called, if there is jitter, after each of `iterations`
};

struct Metrics {
  double iteration_s = 0;               ///< the steady period from the start of a backward pass to the next
  double forward_s = 0;                 ///< t_f of a micro-batch, of a worker that nothing slows
  double backward_s = 0;                ///< t_b, likewise
  double update_s = 0;                  ///< the optimizer's, of such a worker's compute stream
  double copy_s = 0;                    ///< copies out of and into the buffers of collectives, likewise
  double straggler_s = 0;               ///< iteration − that of the same plan without stragglers, spread and jitter
  double exposed_comm_s = 0;            ///< iteration − stragglers − K·(forward + backward) − update − codec
  double comm_busy_s = 0;               ///< time per iteration with any block in flight
  double codec_s = 0;                   ///< encoding and decoding on the compute stream of an unslowed worker
  std::int64_t collectives = 0;         ///< started per iteration
  double speedup = 0;                   ///< N·(K·(t_f + t_b) + U) / iteration
  double efficiency = 0;                ///< speedup / N
  std::optional<double> samples_per_s;  ///< N·K·batch / iteration; none where the batch size is unknown
  std::optional<double> lower_bound_s;  ///< no lossless plan on this collective is faster; none with a codec
  std::int64_t events = 0;              ///< of the whole simulation: servers woken, and the network's own
  std::int64_t network_events = 0;      ///< of those: rounds (`fluid`), messages (`message`), none (`alpha-beta`)
};

/// One replayed iteration: when it began on the common clock, and its spans relative to that.
struct Episode {
  Time start{0};
  Timeline timeline;
};

/// The parts of a worker's memory, in bytes; each is its own peak. Nothing is rounded: a shard may hold a fraction.
struct MemoryParts {
  double parameters = 0, gradients = 0, optimizer = 0;  ///< all the time
  double gathered = 0;                                  ///< parameters of others, while they are here
  double in_reduction = 0;                              ///< unsharded gradients, until they are reduced
  std::optional<double> activations;                    ///< none where the profile says nothing of them
  double step = 0;                                      ///< copies and temporaries while the optimizer updates
};

/// How much there is from an instant on, since the start of the program.
struct MemoryPoint {
  Time at{0};
  double bytes = 0;
};

struct MemoryUse {
  MemoryParts parts;
  double peak = 0;                  ///< of the sum over time
  std::vector<MemoryPoint> course;  ///< of the worker that needs most
};

/// A rank of a pipeline, in an iteration.
struct StageResult {
  struct OwnChunk {
    std::uint32_t chunk = 0, first = 0, layers = 0;
  };
  std::vector<OwnChunk> chunks;
  double compute_s = 0, layer_comm_s = 0, update_s = 0, bubble_s = 0;
  MemoryUse memory;
};

/// Beside data parallelism: where the time of an iteration goes, and in which ranks.
struct ParallelResult {
  Degrees degrees;
  std::string schedule;
  std::optional<std::int64_t> chunks;  ///< a rank; none where they hold unequal numbers
  std::int64_t micro_batches = 1;
  double bubble_s = 0, exposed_dp_s = 0, exposed_p2p_s = 0, layer_comm_s = 0;
  std::vector<StageResult> stages;  ///< by rank
  bool repeats = true;              ///< the period was found; else a mean
};

struct Result {
  std::string collective;
  Fidelity fidelity = Fidelity::AlphaBeta;
  std::string warning;  ///< about the cluster's costs; "" if none
  std::string note;     ///< of what decides where links are simulated, if it is not they; "" if nothing else does
  Plan plan;
  Metrics metrics;
  MemoryUse memory;                        ///< of a worker; in a pipeline of the one that needs most
  std::optional<ParallelResult> parallel;  ///< none where there is data parallelism alone
  // For pictures:
  Unrolled unrolled;
  std::vector<WorkerClass> classes;
  std::vector<Episode> episodes;  ///< the last one or two iterations
};

struct Job;

/// Replays the plan. Throws InputError for what cannot be simulated, TimeOverflow where the clock ends.
Result simulate(const Scenario& scenario, const Plan& plan);

/// The same of a job that is prepared for the plan.
Result simulate(const Job& job, const Plan& plan);

/// How many times as long as the profile says the slowest worker takes.
double slowest_factor(const Scenario& scenario);

/// Times of a micro-batch, speed-up and efficiency over a worker that has the whole model, samples per second.
/// `profile`: without what is sent inside layers. REQUIRES: metrics.iteration_s is known.
void add_speeds(const Profile& profile, std::int64_t micro_batches, const Degrees& degrees, Metrics& metrics);

/// What the last worker to be ready runs.
Shared<Profile> slowest_profile(const Scenario& scenario);

}  // namespace allreplay
