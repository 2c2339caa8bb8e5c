#include "sim/training/sharding.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/training/job.hpp"
#include "sim/training/parallel_setup.hpp"

namespace allreplay {

bool shards_state(const Scenario& scenario) {
  if (scenario.given && !scenario.given->plan.pipeline) {
    const std::vector<Transfer>& transfers = scenario.given->plan.transfers;
    return std::any_of(transfers.begin(), transfers.end(), [](const Transfer& one) {
      return one.group != group_all && !(one.group == group_expert && one.op == CollectiveOp::AllReduce);
    });
  }
  return scenario.options.strategy.sharding.shards_optimizer() || (scenario.strategy && scenario.strategy->plan);
}

Call planned_call(const Scenario& scenario) {
  if (scenario.operation) return *scenario.operation;
  if (scenario.options.parallel.pipeline())
    return {shards_state(scenario) ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce,
            degrees_of(scenario).gradients()};
  const auto groups = data_parallel_groups(scenario.options.strategy.sharding);
  if (!shards_state(scenario)) return {CollectiveOp::AllReduce, groups[group_all].group};
  return {CollectiveOp::ReduceScatter, groups[group_shard].group};
}

std::int64_t stage_of(const Scenario& scenario) {
  const StrategyOptions& options = scenario.options.strategy;
  return scenario.strategy->shards() ? scenario.strategy->sharding(options).stage : options.sharding.zero;
}

bool takes_groups(const Scenario& scenario) {
  const StrategyOptions& options = scenario.options.strategy;
  return scenario.strategy->shards() ? scenario.strategy->sharding(options).groups
                                     : options.sharding.shards_optimizer();
}

namespace {

[[noreturn]] void refuse(const Scenario& scenario, const std::string& option, const std::string& remedy) {
  throw InputError(scenario.options.place_of(option),
                   fmt::format("{} cannot be combined with {}", option, scenario.strategy->name), remedy);
}

void require_groups(const Scenario& scenario) {
  const std::int64_t group = scenario.options.strategy.sharding.shard_group;
  if (group == 0) return;
  const std::int64_t workers = scenario.workers / scenario.options.strategy.sharding.stride;
  if (workers % group != 0)
    throw InputError(scenario.options.place_of("shard_group"),
                     fmt::format("groups of {} do not divide {} workers", group, workers),
                     "a divisor of the number of workers");
  if (!scenario.given && !takes_groups(scenario))
    refuse(scenario, "shard_group",
           "fsdp1, fsdp2, simple-fsdp, megatron-fsdp, megatron with its distributed optimizer, or zero=1 or 2 under a "
           "plan of blocks");
}

// The names of the strategies that reduce gradients of experts in groups of their own.
std::string names_of_strategies_with_experts() {
  std::vector<std::string_view> names;
  for (const Strategy& one : strategies())
    if (one.takes_experts) names.push_back(one.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Rejects what reduces all gradients among the same workers, if experts have groups of their own.
void require_experts(const Scenario& scenario) {
  const ShardingConfig& sharding = scenario.options.strategy.sharding;
  if (!sharding.has_expert_groups()) return;
  const auto refuse_experts = [&](const SourceLocation& place, std::string_view what, std::string_view remedy) {
    throw InputError(place,
                     fmt::format("{} cannot be combined with ep {}, which reduces experts among other workers", what,
                                 sharding.experts),
                     fmt::format("{}; or ep 1", remedy));
  };
  if (sharding.shard_group > 0) refuse_experts(scenario.options.place_of("shard_group"), "shard_group", "none");
  if (scenario.codec) refuse_experts(scenario.place_of_codec, "a codec", "none");
  if (scenario.given) return;
  if (!scenario.strategy->takes_experts)
    refuse_experts({"strategy", std::string(scenario.strategy->name)}, scenario.strategy->name,
                   names_of_strategies_with_experts());
  if (!scenario.strategy->shards() && sharding.shards_optimizer())
    refuse_experts(scenario.options.place_of("zero"), "zero", "zero=0, or megatron or fsdp2");
}

}  // namespace

bool goes_with(const Scenario& scenario) {
  try {
    require_sharding(scenario);
  } catch (const InputError&) {
    return false;
  }
  return true;
}

std::vector<std::string> options_not_taken(const Scenario& scenario) {
  std::vector<std::string> names;
  if (scenario.given) return names;
  const StrategyOptions& options = scenario.options.strategy;
  const bool by_itself = scenario.strategy->plan != nullptr;
  if (by_itself && options.sharding.shards_optimizer()) names.emplace_back("zero");
  if (by_itself && options.barrier) names.emplace_back("barrier");
  if (options.sharding.shard_group > 0 && !takes_groups(scenario)) names.emplace_back("shard_group");
  return names;
}

void require_sharding(const Scenario& scenario) {
  if (!scenario.strategy) return;
  require_strategy_of_pipelines(scenario);
  require_experts(scenario);
  require_groups(scenario);
  const StrategyOptions& options = scenario.options.strategy;
  if (scenario.codec && !scenario.strategy->plan && scenario.options.places.contains("zero") && shards_state(scenario))
    throw InputError(scenario.options.place_of("zero"), "shards, but codecs compress all-reduces",
                     "no codec, or zero=0");
  if (scenario.codec && shards_state(scenario))
    throw InputError(scenario.place_of_codec,
                     fmt::format("codecs compress all-reduces, but {} shards", scenario.strategy->name),
                     "no codec, or zero=0 with a plan of blocks");
  if (scenario.given) return;
  if (scenario.strategy->plan) {
    if (options.sharding.shards_optimizer()) refuse(scenario, "zero", "leave it out: the strategy shards already");
    if (options.barrier) refuse(scenario, "barrier", "leave it out: the framework determines what waits for what");
    if (options.fsdp.reshard && reads(*scenario.strategy, "reshard")) {
      const std::string asked = scenario.options.get("reshard");
      const std::vector<std::string> words = words_for(*option_named("reshard"), *scenario.strategy);
      if (std::find(words.begin(), words.end(), asked) == words.end())
        throw InputError(scenario.options.place_of("reshard"),
                         fmt::format("{} has no {}", scenario.strategy->name, asked), choices(words));
    }
    return;
  }
  if (options.sharding.shards_optimizer() && scenario.strategy->split)
    refuse(scenario, "zero", "zero=0: it sends reduce-scatters and all-gathers already");
  if (options.sharding.shards_parameters() && scenario.strategy->schedule)
    refuse(scenario, "zero", "zero=1 or 2, or fsdp2, fsdp1, simple-fsdp, megatron-fsdp, zero-3, or best");
  if (options.sharding.shards_parameters() && options.barrier)
    throw InputError(
        scenario.options.place_of("barrier"), "barrier cannot be combined with zero=3",
        "leave it out: with gathered parameters the framework determines what waits for what; or zero=0, 1 or 2");
}

}  // namespace allreplay
