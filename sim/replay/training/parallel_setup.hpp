// Sets up a scenario with more than data parallelism: degrees, times of collectives inside layers, and a pipeline.
#pragma once

#include <optional>
#include <vector>

#include "sim/plans/pipeline/pipeline_plan.hpp"
#include "sim/replay/training/collective_choice.hpp"
#include "sim/replay/training/unroll.hpp"

namespace allreplay {

class Fabric;

struct ParallelSetup {
  Degrees degrees;
  Shared<Profile> layers_alone;  ///< without collectives inside layers
  Profile profile;               ///< layers' times include them
  TokenExchanges exchanges;      ///< those among experts
  // With pp above 1:
  std::optional<Pipeline> pipeline;
  std::vector<double> sends;      ///< by chunk: bytes
  std::vector<double> slowdowns;  ///< by rank: of its slowest worker, for which the others wait
};

Degrees degrees_of(const Scenario& scenario);

/// Throws InputError if pp is above 1: `what` does not support pipelines, `instead` does.
void refuse_pipelines(const Scenario& scenario, std::string_view what, std::string_view instead);

/// Throws InputError if the strategy or its barrier does not support a pipeline.
void require_strategy_of_pipelines(const Scenario& scenario);

/// Throws InputError if token exchange should overlap computing (ep_overlap), but nothing can overlap.
void require_ep_overlap(const Scenario& scenario);

/// True if token exchange overlaps computing.
bool overlaps_exchanges(const Scenario& scenario);

/// Throws InputError, naming the option, for settings that these degrees of parallelism do not support.
void require_parallel(const Scenario& scenario, const CollectiveChoice& choice);

/// REQUIRES: pp is above 1.
Pipeline pipeline_of(const Scenario& scenario);

/// Makes the setup. `fabric` prices collectives inside layers in the detailed fidelities; null in alpha-beta.
ParallelSetup parallel_setup(const Scenario& scenario, const CollectiveChoice& choice, const Fabric* fabric = nullptr);

/// Returns the distinct calls of collectives inside layers, in groups of the first rank's workers.
std::vector<Call> layer_calls(const Scenario& scenario, const CollectiveChoice& choice);

/// A collective inside a layer, in groups of the workers that hold the layer; it runs in each micro-batch.
struct LayerSend {
  Call call;
  Bytes bytes = 0;
};
/// Returns all collectives inside layers, in the order of the layers.
std::vector<LayerSend> sends_of_layers(const Scenario& scenario, const CollectiveChoice& choice);

/// Returns the request for the strategy's planner.
PipelineRequest pipeline_request(const Scenario& scenario, const ParallelSetup& setup, const BlockCost& cost);

/// True if a pipeline determines the option: with fsdp2, the schedule decides when units are gathered and reduced.
bool is_fixed_in_pipelines(const Scenario& scenario, std::string_view option);

/// Returns the number of micro-batches for the requested samples per iteration; none if it is not an integer.
/// REQUIRES: global_batch, and a profile with a batch size.
std::optional<std::int64_t> micro_batches_of_samples(const Scenario& scenario);

/// Returns the profile's layers without the time of the token exchanges.
Profile without_exchanges(const ParallelSetup& setup);

/// Returns notes for the user on how the profile is interpreted.
std::string parallel_caveats(const Scenario& scenario);

}  // namespace allreplay
