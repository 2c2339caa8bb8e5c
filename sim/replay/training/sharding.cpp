#include "sim/replay/training/sharding.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/plans/schedule/local_sgd.hpp"
#include "sim/plans/schedule/muon.hpp"
#include "sim/plans/schedule/units.hpp"
#include "sim/replay/training/collective_choice.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/replay/training/parallel_setup.hpp"

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
    throw InputError(scenario.given ? SourceLocation{scenario.given->file, "/step/shard_group"}
                                    : scenario.options.place_of("shard_group"),
                     fmt::format("groups of {} do not divide {} workers", group, workers),
                     scenario.given ? fmt::format("a multiple of {} workers, or a plan for {}", group, workers)
                                    : "a divisor of the number of workers");
  if (!scenario.given && !takes_groups(scenario))
    refuse(scenario, "shard_group",
           "fsdp1, fsdp2, simple-fsdp, megatron-fsdp, megatron with its distributed optimizer, or zero=1 or 2 under a "
           "plan of blocks");
}

// Rejects a plan from a file whose groups in nodes do not divide the workers, or which distributes matrices over more
// ranks than share them.
void require_ranks_of_plan(const Scenario& scenario) {
  if (!scenario.given || scenario.given->plan.pipeline) return;
  const Plan& plan = scenario.given->plan;
  const auto refuse_workers = [&](const std::string& where, const std::string& wrong, const std::string& right) {
    throw InputError({scenario.given->file, where}, wrong,
                     fmt::format("{}, or a plan for {}", right, scenario.workers));
  };
  for (const auto& [name, size] : {std::pair("secondary", plan.sharding.secondary), {"node", plan.sharding.node}})
    if (size > 1 && scenario.workers % size != 0)
      refuse_workers(fmt::format("/step/{}", name),
                     fmt::format("groups of {} do not divide {} workers", size, scenario.workers),
                     fmt::format("a multiple of {} workers", size));
  const std::int64_t ranks = plan.sharding.shards(scenario.workers);
  std::set<std::uint32_t> owners;  // each has a lane of its own
  std::int64_t most = 0;
  for (const Transfer& one : plan.transfers) {
    if (one.computes == Activity::NewtonSchulz) owners.insert(one.lane);
    if (one.payload.kind == Payload::Kind::Matrices && one.op == CollectiveOp::AllToAll)
      most = std::max<std::int64_t>(most, std::ssize(plan.blocks[one.payload.block].slices));
  }
  most = std::max<std::int64_t>(most, std::ssize(owners));
  if (most > ranks)
    refuse_workers("/transfers", fmt::format("distribute matrices over {} ranks, but groups have {}", most, ranks),
                   "more workers");
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
    refuse_experts({fmt::format("--strategy {}", scenario.strategy->name), ""}, scenario.strategy->name,
                   names_of_strategies_with_experts());
  if (!scenario.strategy->shards() && sharding.shards_optimizer())
    refuse_experts(scenario.options.place_of("zero"), "zero", "zero=0, or megatron or fsdp2");
}

// ZeRO++: the groups of secondary shards, and of nodes.
void require_zeropp(const Scenario& scenario) {
  if (scenario.given || scenario.strategy->name != "zero-3") return;
  const ZeroOptions& zero = scenario.options.strategy.zero;
  const std::int64_t workers = scenario.workers, node = gpus_of_a_host(scenario.cluster.network);
  const auto fail = [&](const std::string& option, const std::string& wrong, const std::string& right) {
    throw InputError(scenario.options.place_of(option), wrong, right);
  };
  if (workers % zero.hpz != 0)
    fail("hpz", fmt::format("groups of {} do not divide {} workers", zero.hpz, workers),
         "a divisor of the number of workers");
  if (zero.hpz > 1 && workers > node && node % zero.hpz != 0 && zero.hpz % node != 0)
    fail("hpz", fmt::format("groups of {} do not divide nodes of {} workers", zero.hpz, node),
         "a divisor or a multiple of a node's workers");
  if (zero.qgz && workers > node && workers % node != 0)
    fail("qgz", fmt::format("nodes of {} do not divide {} workers", node, workers), "qgz=false, or full nodes");
  if (zero.quantise && !zero.qwz && !zero.qgz)
    fail("quantise", "nothing is quantised", "qwz=true or qgz=true, or leave it out");
}

void require_muon(const Scenario& scenario) {
  if (scenario.given) return;
  const StrategyOptions& options = scenario.options.strategy;
  const Strategy& strategy = *scenario.strategy;
  const auto fail = [&](const std::string& option, const std::string& wrong, const std::string& right) {
    throw InputError(scenario.options.place_of(option), wrong, right);
  };
  if (options.muon.optimizer != StepOptimizer::Muon) {
    if (options.muon.spread) fail("muon", "no step is Muon's", "optimizer=muon, or leave it out");
    return;
  }
  if (scenario.options.parallel.pipeline())
    fail("optimizer", "optimizer=muon does not support pipelines yet", "pp 1, or leave it out");
  if (options.sharding.has_expert_groups())
    fail("optimizer", "optimizer=muon does not support groups of experts yet", "ep 1, or leave it out");
  if (!strategy.schedule && strategy.name != "fsdp2" && strategy.name != "megatron")
    fail("optimizer", fmt::format("{} does not support optimizer=muon", strategy.name),
         "fsdp2, megatron, or a strategy of blocks such as ddp, with or without --zero 1 or 2");
  const bool shards = stage_of(scenario) > 0;
  if (!shards && options.barrier.value_or(strategy.barrier) == Barrier::Layer)
    fail("optimizer", "optimizer=muon does not update layer by layer", "barrier=iteration, or --zero 1 or 2");
  if (const auto wrong = unsuitable_spread(options.muon, shards)) fail("muon", wrong->what, wrong->remedy);
  if (muon_matrices(scenario.profile).empty())
    fail("optimizer", fmt::format("the blocks of '{}' have no matrices", scenario.profile->name),
         "tensors with a shape of two dimensions, in layers whose group has a number");
}

// Rounds of local steps.
void require_rounds(const Scenario& scenario) {
  const std::string_view name = scenario.strategy->name;
  if (scenario.given || (name != "diloco" && name != "local-sgd")) return;
  const OuterOptions& outer = scenario.options.strategy.outer;
  if (scenario.profile->tensors.empty())
    throw InputError({"strategy", std::string(name)},
                     fmt::format("averages parameters, but {} has none", scenario.profile->name),
                     "a profile whose layers have tensors, or another strategy");
  if (outer.replica != 1)
    throw InputError(scenario.options.place_of("replica"),
                     "replicas of several workers, with FSDP or DDP inside, are not simulated",
                     "replica=1: each worker is a replica, or each tensor group (--tp)");
  if (name == "local-sgd") return;
  const auto wrong = unsuitable_round(outer, units_of(scenario.profile, scenario.options.strategy.fsdp.wrap).size());
  if (wrong)
    throw InputError(
        scenario.options.place_of(outer.delay > 0 && outer.sync_every % outer.fragments == 0 ? "delay" : "fragments"),
        wrong->what, wrong->remedy);
}

}  // namespace

bool is_compatible(const Scenario& scenario) {
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
  require_ranks_of_plan(scenario);
  require_zeropp(scenario);
  require_muon(scenario);
  require_rounds(scenario);
  const StrategyOptions& options = scenario.options.strategy;
  if (scenario.codec && !scenario.strategy->plan && scenario.options.places.contains("zero") && shards_state(scenario))
    throw InputError(scenario.options.place_of("zero"), "shards, but codecs compress all-reduces",
                     "no codec, or zero=0");
  if (scenario.codec && shards_state(scenario))
    throw InputError(scenario.place_of_codec,
                     fmt::format("codecs compress all-reduces, but {} {}", scenario.strategy->name,
                                 scenario.strategy->local_steps ? "averages parameters" : "shards"),
                     "no codec, or zero=0 with a plan of blocks");
  if (scenario.given) return;
  if (scenario.strategy->plan) {
    if (options.sharding.shards_optimizer()) refuse(scenario, "zero", "leave it out: the strategy shards already");
    if (options.barrier) refuse(scenario, "barrier", "leave it out: the framework determines the dependencies");
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
        "leave it out: with gathered parameters the framework determines the dependencies; or zero=0, 1 or 2");
}

}  // namespace allreplay
