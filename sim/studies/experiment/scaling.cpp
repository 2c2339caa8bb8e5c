#include "sim/studies/experiment/scaling.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "sim/plans/collective/network_change.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/parallel_setup.hpp"

namespace allreplay {

namespace {

// Returns 1, the workers of a node, and twice as many each time, below `workers`.
std::vector<std::int64_t> fewer_workers(const Network& network, std::int64_t workers) {
  std::vector<std::int64_t> counts;
  if (workers > 1) counts.push_back(1);
  for (std::int64_t count = std::max<std::int64_t>(2, node_workers_of(network)); count < workers; count *= 2)
    counts.push_back(count);
  return counts;
}

// Returns the same training on fewer workers; none if they do not divide the samples of an iteration.
std::optional<Scenario> with_fewer_workers(Scenario fewer, std::int64_t workers) {
  // One group of all stays that; others keep their size, which fewer workers refuse. A single worker has nothing to
  // shard. A plan from a file has its own groups.
  std::int64_t& group = fewer.options.strategy.sharding.shard_group;
  if (!fewer.given && (workers == 1 || group >= degrees_of(fewer).gradient_workers())) group = 0;
  fewer.workers = workers;
  settle_by_nodes(fewer.cluster.network, workers);
  if (!fewer.options.global_batch) return fewer;
  const auto batches = micro_batches_of_samples(fewer);
  if (!batches) return std::nullopt;
  fewer.options.strategy.sharding.accumulate = *batches;
  return fewer;
}

// Returns the efficiency on fewer workers. With a global batch their micro-batches differ, so compares GPU time.
double efficiency_there(const Outcome& fewer, const Outcome& winner) {
  const Metrics &there = fewer.result.metrics, &here = winner.result.metrics;
  if (!winner.scenario.options.global_batch) return there.efficiency;
  const auto gpu_seconds = [](const Outcome& one) {
    return one.result.metrics.iteration_s * static_cast<double>(one.scenario.workers);
  };
  return here.efficiency * gpu_seconds(winner) / gpu_seconds(fewer);
}

std::int64_t replica_workers_of(const Scenario& scenario) { return scenario.workers / degrees_of(scenario).dp; }

ScalingReference fewest_workers_reference(const Outcome& winner, const Watch& watch) {
  const std::int64_t group = winner.scenario.options.strategy.sharding.shard_group;
  const std::string_view name = winner.scenario.strategy->name;
  ScalingReference reference{.strategy = group > 1 ? fmt::format("{} in groups of {}", name, group) : std::string(name),
                             .replica_workers = replica_workers_of(winner.scenario),
                             .copies = winner.result.metrics.copy_s > 0};
  if (!winner.scenario.options.memory.limit || !fits(winner.scenario, winner.result)) return reference;
  // A given plan of a pipeline is for a fixed number of workers.
  const bool fixed = winner.scenario.given && winner.scenario.options.parallel.pipeline();
  const auto counts =
      fixed ? std::vector<std::int64_t>() : fewer_workers(winner.scenario.cluster.network, winner.scenario.workers);
  const std::function<void()> advance = watched(watch, counts.size());
  for (const std::int64_t workers : counts) try {
      std::optional<Scenario> fewer = with_fewer_workers(winner.scenario, workers);
      if (!fewer) {
        reference.undivided.push_back(workers);
        continue;
      }
      const Outcome outcome = run(std::move(*fewer));
      if (advance) advance();
      if (!fits(outcome.scenario, outcome.result)) continue;
      reference.workers = workers;
      if (workers > 1) reference.efficiency = efficiency_there(outcome, winner);  // on one worker it is 1 by definition
      return reference;
    } catch (const InputError&) {  // such as groups that are larger
    }
  reference.workers = winner.scenario.workers;
  reference.efficiency = winner.result.metrics.efficiency;
  return reference;
}

}  // namespace

double ScalingReference::relative(const Outcome& outcome) const {
  const bool is_relative_to_one = gpu_seconds == 0;  // nothing fits
  if (is_relative_to_one || outcome.result.plan.sharding.accumulate == micro_batches)
    return outcome.result.metrics.efficiency / efficiency;
  return gpu_seconds / seconds_of_equal_work(outcome);
}

std::string ScalingReference::in_words() const {
  return runs() ? fmt::format("--workers {}", workers) : "computation alone";
}

ScalingReference scaling_reference(const Outcome& winner, const Watch& watch) {
  ScalingReference reference = fewest_workers_reference(winner, watch);
  reference.micro_batches = winner.result.plan.sharding.accumulate;
  reference.gpu_seconds = seconds_of_equal_work(winner) * winner.result.metrics.efficiency / reference.efficiency;
  return reference;
}

std::vector<ScalingReference> scaling_references(const std::vector<Outcome>& outcomes, const WinningRule& rule,
                                                 const Watch& watch) {
  using Field = std::tuple<std::string, std::string, Fidelity>;
  const auto field_of = [&](const Outcome& one) {
    return Field(one.scenario.profile->name, one.scenario.cluster.name, one.result.fidelity);
  };
  std::map<Field, std::vector<std::size_t>> fields;
  for (std::size_t i = 0; i < outcomes.size(); ++i) fields[field_of(outcomes[i])].push_back(i);
  std::vector<ScalingReference> references(outcomes.size());
  for (const auto& [field, members] : fields) {
    std::int64_t most = 0;
    for (const std::size_t one : members)
      if (fits(outcomes[one].scenario, outcomes[one].result)) most = std::max(most, outcomes[one].scenario.workers);
    std::vector<Contender> contenders;  // on `most` workers
    std::vector<std::size_t> places;
    for (const std::size_t one : members)
      if (outcomes[one].scenario.workers == most) {
        contenders.push_back(contender_of(outcomes[one], rule));
        places.push_back(one);
      }
    const ScalingReference reference =
        places.empty() ? ScalingReference{.replica_workers = replica_workers_of(outcomes[members.front()].scenario)}
                       : scaling_reference(outcomes[places[rank(contenders, rule).order.front()]], watch);
    for (const std::size_t one : members) references[one] = reference;
  }
  return references;
}

Row row_with_reference(const Outcome& outcome, const ScalingReference& reference) {
  Row row = row_with_schedule(outcome);
  row.push_back({"reference_workers", reference.workers});
  row.push_back({"relative_efficiency", reference.relative(outcome)});
  return row;
}

}  // namespace allreplay
