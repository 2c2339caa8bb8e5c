// Simulates a scenario: the only place where a profile, a cluster and a strategy meet a clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/core/shared.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/inputs/cluster/topology.hpp"
#include "sim/inputs/workload/profile.hpp"
#include "sim/inputs/workload/stragglers.hpp"
#include "sim/plans/collective/collective_file.hpp"
#include "sim/plans/schedule/strategy.hpp"
#include "sim/replay/network/fidelity.hpp"
#include "sim/replay/training/options.hpp"
#include "sim/replay/training/unroll.hpp"

namespace allreplay {

class KnownNetworks;  // known_networks.hpp

/// A plan from a file, used instead of a strategy's.
struct GivenPlan {
  std::string file;
  std::string name;         ///< of the strategy
  std::string listed = {};  ///< its name among the options of results; "": it is not there
  Strategy strategy;        ///< a row for this plan only, called `name`, without options
  Plan plan;
};

/// The device that a profile names.
struct KnownDevice {
  std::string name;
  Bytes memory = 0;
  std::optional<double> watts = {};  ///< none: unknown
};

struct Scenario {
  Shared<Profile> profile;
  Cluster cluster;
  Stragglers stragglers;
  std::int64_t workers = 1;
  std::string collective;                 ///< "": the cluster's
  std::optional<CollectiveOp> operation;  ///< to price in isolation; none: the collective's own
  std::map<std::string, std::shared_ptr<const CollectiveFile>> collective_files;  ///< by name
  std::string fidelity;                                                           ///< "": the cluster's
  const Strategy* strategy = nullptr;
  std::shared_ptr<const GivenPlan> given;   ///< if set, `strategy` is its strategy
  std::optional<CodecCosts> codec;          ///< none: no compression
  std::optional<KnownDevice> device;        ///< none: unknown
  std::optional<double> peak;               ///< FLOP/s of a worker in the profile's precision; none: unknown
  std::optional<double> product_rate = {};  ///< FLOP/s that its products reach; none: unknown
  Options options;
  bool fold = true;       ///< simulate identical workers once; results do not depend on it
  bool in_words = false;  ///< options are those that the settings of the strategy's framework mean (Offer::meant)
  std::shared_ptr<const Topology> laid_on = nullptr;  ///< rank i is on its host i; none: the cluster file's topology
  std::shared_ptr<KnownNetworks> networks = nullptr;  ///< shared with other scenarios; none: shares nothing
  bool reuse = true;  ///< price a collective that runs in isolation only once (detailed fidelities)
  /// Computes the parts of an iteration by further replays. Otherwise stragglers count as exposed communication, and
  /// all time that a pipeline rank does not compute as bubble.
  bool parts = true;
  std::vector<std::uint64_t> seeds = {};  ///< to repeat it with (studies/experiment/over_seeds.hpp); empty: its own
  SourceLocation place_of_collective, place_of_fidelity, place_of_codec;  ///< for errors, if not in the cluster file
  SourceLocation place_of_workers = {};                                   ///< if not in the cluster file
  SourceLocation place_of_speed = {};     ///< of the first change of a bandwidth or latency, if any
  std::function<void()> after_iteration;  ///< called, if there is jitter, after each of `iterations`
};

struct Metrics {
  double iteration_s = 0;  ///< the steady period from the start of a backward pass to the next
  double forward_s = 0;    ///< t_f of a micro-batch, on a worker without slowdown
  double backward_s = 0;   ///< t_b of a micro-batch, on a worker without slowdown
  double update_s = 0;     ///< of the optimizer, on such a worker's compute stream
  double host_step_s = 0;  ///< the host's part of the step, on such a worker
  double host_s = 0;       ///< waiting for the host on such a worker: in the passes, and host_step_s
  double copy_s = 0;       ///< copies into and out of the buffers of collectives, on such a worker's compute stream
  double straggler_s = 0;  ///< iteration − that of the same plan without stragglers, spread and jitter
  double exposed_comm_s = 0;  ///< iteration − stragglers − K·(forward + backward) − update − the host's part − codec
  double comm_busy_s = 0;                 ///< time per iteration with any block in flight
  double codec_s = 0;                     ///< encoding and decoding on such a worker's compute stream
  std::int64_t collectives = 0;           ///< started per iteration, or round of local steps
  double speedup = 0;                     ///< N·(K·(t_f + t_b) + U + the host's part of the step) / iteration
  double efficiency = 0;                  ///< speedup / N
  std::optional<double> samples_per_s;    ///< N·K·batch / iteration; none if the batch size is unknown
  std::optional<double> period_s;         ///< a round of local steps, of which iteration_s is the mean
  std::optional<double> newton_schulz_s;  ///< of Muon on the worker that computes most, part of update_s
  std::optional<double> lower_bound_s;    ///< no lossless plan on this collective is faster; none with a codec
  std::int64_t events = 0;                ///< of the whole simulation: servers' wake-ups and network events
  std::int64_t network_events = 0;        ///< rounds (`fluid`), messages (`message`), none (`alpha-beta`)
};

/// One replayed iteration: its start on the common clock, and its timeline relative to that.
struct Episode {
  Time start{0};
  Timeline timeline;
};

/// The parts of a worker's memory, in bytes, each at its own peak. Not rounded: a shard may hold a fraction.
struct MemoryParts {
  double parameters = 0, gradients = 0, optimizer = 0;  ///< always held
  double gathered = 0;                                  ///< parameters, from their gather until they are freed
  double in_reduction = 0;                              ///< unsharded gradients, until they are reduced
  std::optional<double> activations;                    ///< none if the profile has none
  double step = 0;                                      ///< copies and temporaries of the optimizer step
  double secondary = 0;                                 ///< ZeRO++: second shards of freed parameters
  double matrices = 0;                                  ///< Muon: gathered matrices, until their Newton-Schulz ends
  double pseudo_gradients = 0;                          ///< local SGD: of fragments that are being averaged
  double outer = 0;                                     ///< state of the outer optimizer, always held
};

/// The memory in use from an instant on.
struct MemoryPoint {
  Time at{0};  ///< since the start of the program
  double bytes = 0;
};

struct MemoryUse {
  MemoryParts parts;
  double peak = 0;                  ///< of the sum over time
  std::vector<MemoryPoint> course;  ///< over time, of the worker that needs most
};

/// A pipeline rank in an iteration.
struct StageResult {
  struct OwnChunk {
    std::uint32_t chunk = 0, first = 0, layers = 0;
  };
  std::vector<OwnChunk> chunks;
  double compute_s = 0, layer_comm_s = 0, update_s = 0, host_step_s = 0, bubble_s = 0;
  double exchange_s = 0;  ///< token exchanges among experts; in layer_comm_s only if nothing overlaps them
  MemoryUse memory;
};

/// The parts of an iteration with more than data parallelism, in total and by rank.
struct ParallelResult {
  Degrees degrees;
  std::string schedule;
  std::optional<std::int64_t> chunks;  ///< per rank; none if ranks hold different numbers
  std::int64_t micro_batches = 1;
  double bubble_s = 0, exposed_dp_s = 0, exposed_p2p_s = 0, layer_comm_s = 0;
  double exposed_ep_s = 0;          ///< of token exchanges; a part of layer_comm_s
  std::vector<StageResult> stages;  ///< by rank
  bool repeats = true;              ///< a period was found; else values are means
};

struct Result {
  std::string collective;
  Fidelity fidelity = Fidelity::AlphaBeta;
  std::string warning;  ///< about the cluster's costs; "" if none
  std::string note;     ///< fidelity_note(); "" if none
  Plan plan;
  Metrics metrics;
  MemoryUse memory;                        ///< of a worker; in a pipeline, of the one that needs most
  std::optional<ParallelResult> parallel;  ///< none if there is only data parallelism
  std::vector<double> by_seed;             ///< the iteration's seconds with each of the scenario's seeds, if any
  std::optional<double> doubted_s;         ///< the iteration with less bandwidth between nodes, if add_doubts() asked
  // For pictures:
  Unrolled unrolled;
  std::vector<WorkerClass> classes;
  std::vector<Episode> episodes;  ///< the last one or two iterations
};

struct Job;

/// Replays the plan. Throws InputError if it cannot be simulated, TimeOverflow if times become too large.
Result simulate(const Scenario& scenario, const Plan& plan);

/// The same for a job that is prepared for the plan.
Result simulate(const Job& job, const Plan& plan);

/// Returns the slowest worker's factor on the profile's times.
double slowest_factor(const Scenario& scenario);

/// Sets times of a micro-batch, speed-up and efficiency relative to one worker with the whole model, and samples per
/// second. `profile`: without collectives inside layers. REQUIRES: metrics.iteration_s is set.
void add_speeds(const Profile& profile, std::int64_t micro_batches, const Degrees& degrees, Metrics& metrics);

/// Returns the profile with the slowest worker's times.
Shared<Profile> slowest_profile(const Scenario& scenario);

}  // namespace allreplay
