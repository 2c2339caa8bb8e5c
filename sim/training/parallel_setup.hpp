// What a scenario with more than data parallelism comes to: degrees, what collectives inside layers take, and a
// pipeline.
#pragma once

#include <optional>
#include <vector>

#include "sim/pipeline/pipeline_plan.hpp"
#include "sim/training/collective_choice.hpp"

namespace allreplay {

class Fabric;

struct ParallelSetup {
  Degrees degrees;
  Shared<Profile> layers_alone;  ///< the profile, without collectives inside layers
  Profile profile;               ///< with them in the layers' times
  // With pp above 1:
  std::optional<Pipeline> pipeline;
  std::vector<double> sends;      ///< bytes, by chunk
  std::vector<double> slowdowns;  ///< by rank: of its slowest worker, for which all others of it wait
};

Degrees degrees_of(const Scenario& scenario);

/// Throws InputError where pp is above 1: `what` does not know pipelines; `instead` are words that do.
void refuse_pipelines(const Scenario& scenario, std::string_view what, std::string_view instead);

/// Throws InputError for a strategy, or its barrier, that does not go with a pipeline.
void require_strategy_of_pipelines(const Scenario& scenario);

/// Throws InputError for what does not go with pipelines, by its name.
void require_parallel(const Scenario& scenario, const CollectiveChoice& choice);

/// REQUIRES: pp is above 1.
Pipeline pipeline_of(const Scenario& scenario);

/// `fabric`: prices collectives inside layers in the detailed fidelities; null in alpha-beta.
ParallelSetup parallel_setup(const Scenario& scenario, const CollectiveChoice& choice, const Fabric* fabric = nullptr);

/// The groups in which collectives inside layers go, in the workers of the first rank, with their operations.
std::vector<Call> layer_calls(const Scenario& scenario, const CollectiveChoice& choice);

/// What a layer sends in each micro-batch, in groups of the workers that hold it.
struct LayerSend {
  Call call;
  Bytes bytes = 0;
};
/// By layer, in the order of the profile.
std::vector<LayerSend> sends_of_layers(const Scenario& scenario, const CollectiveChoice& choice);

/// What the plan of its strategy is made from.
PipelineRequest pipeline_request(const Scenario& scenario, const ParallelSetup& setup, const BlockCost& cost);

/// Whether a pipeline leaves nothing to choose of the option: of fsdp2 the schedule says when units are gathered and
/// reduced.
bool settled_in_pipelines(const Scenario& scenario, std::string_view option);

/// The micro-batches that make the samples of an iteration that were asked for; none where they do not divide.
/// REQUIRES: global_batch, and a profile with a batch size.
std::optional<std::int64_t> micro_batches_of_samples(const Scenario& scenario);

/// The notes that a user is told: whose profile it is taken for.
std::string parallel_caveats(const Scenario& scenario);

}  // namespace allreplay
