#include "sim/replay/training/parallel_setup.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/plans/collective/nccl.hpp"
#include "sim/plans/collective/parameter_server.hpp"
#include "sim/plans/collective/send_cost.hpp"
#include "sim/plans/pipeline/pipeline_plan.hpp"
#include "sim/plans/pipeline/planned.hpp"
#include "sim/replay/network/fabric.hpp"
#include "sim/replay/training/sharding.hpp"

namespace allreplay {

namespace {

const ParallelOptions& parallel_of(const Scenario& scenario) { return scenario.options.parallel; }

// Returns the place of the first of these degrees that was not set in the cluster's file, such as the command line;
// else the place of the number of workers.
SourceLocation place_of_workers(const Scenario& scenario, std::initializer_list<const char*> degrees) {
  const SourceLocation in_file = scenario.cluster.place / "workers";
  const auto& places = scenario.options.places;
  for (const char* degree : degrees)
    if (const auto asked = places.find(degree); asked != places.end() && asked->second.file != in_file.file)
      return asked->second;
  return scenario.place_of_workers.file.empty() ? in_file : scenario.place_of_workers;
}

// Returns the place of the first of tp, cp and pp with which the product no longer divides the workers.
SourceLocation place_of_degrees(const Scenario& scenario) {
  const ParallelOptions& parallel = parallel_of(scenario);
  if (scenario.workers % parallel.tp != 0) return place_of_workers(scenario, {"tp"});
  if (scenario.workers / parallel.tp % parallel.cp != 0) return place_of_workers(scenario, {"cp", "tp"});
  return place_of_workers(scenario, {"pp", "cp", "tp"});
}

PipelinePlaces places_of(const Scenario& scenario) {
  const Options& options = scenario.options;
  return {options.place_of("schedule"), options.place_of("chunks"), options.place_of("accumulate"),
          options.place_of("microbatch_group"), options.place_of("stages")};
}

Group group_of(const LayerCollective& one, const Degrees& degrees, std::int64_t rank = 0) {
  switch (one.group) {
    case LayerCollective::Among::Tensor:
      return degrees.tensor(rank);
    case LayerCollective::Among::Context:
      return degrees.context(rank);
    case LayerCollective::Among::Expert:
      break;
  }
  return degrees.expert(rank);
}

bool sends_anything(const LayerCollective& one, const Degrees& degrees) {
  return one.bytes > 0 && group_of(one, degrees).ranks > 1;
}

// Times of collectives inside layers in isolation, by closed forms or by a fabric.
class LayerPrices {
 public:
  LayerPrices(const Scenario& scenario, const CollectiveChoice& choice, const Degrees& degrees, const Fabric* fabric)
      : scenario_(scenario), choice_(choice), degrees_(degrees), fabric_(fabric) {}

  double seconds(const LayerCollective& one) {
    if (!sends_anything(one, degrees_)) return 0;
    const Group group = group_of(one, degrees_);
    if (fabric_) return to_seconds(fabric_->alone(one.bytes, {one.op, group}));
    const Network& network = scenario_.cluster.network;
    const auto price = [&](CollectiveOp op) {
      return price_call(network, {op, group, &choice_.of(op)}, scenario_.workers, scenario_.cluster.workers,
                        choice_.options)
          .cost;
    };
    const std::pair key(one.op, one.group);
    const auto known = std::find_if(costs_.begin(), costs_.end(), [&](const auto& cost) { return cost.first == key; });
    if (known != costs_.end()) return known->second.seconds(one.bytes);
    costs_.emplace_back(key, price(one.op));
    return costs_.back().second.seconds(one.bytes);
  }

 private:
  const Scenario& scenario_;
  const CollectiveChoice& choice_;
  const Degrees& degrees_;
  const Fabric* fabric_;
  std::vector<std::pair<std::pair<CollectiveOp, LayerCollective::Among>, CommCost>> costs_;
};

}  // namespace

Degrees degrees_of(const Scenario& scenario) {
  return degrees_of(parallel_of(scenario), scenario.workers, place_of_degrees(scenario),
                    scenario.options.place_of("ep"));
}

Pipeline pipeline_of(const Scenario& scenario) {
  return pipeline_of(parallel_of(scenario), degrees_of(scenario), scenario.options.strategy.sharding.accumulate,
                     scenario.profile, places_of(scenario));
}

std::vector<Call> layer_calls(const Scenario& scenario, const CollectiveChoice& choice) {
  const Degrees degrees = degrees_of(scenario);
  std::vector<Call> calls;
  for (const Layer& layer : scenario.profile->layers)
    for (const LayerCollective& one : layer.collectives) {
      if (!sends_anything(one, degrees)) continue;
      const Call call(one.op, group_of(one, degrees), &choice.of(one.op));
      if (std::find(calls.begin(), calls.end(), call) == calls.end()) calls.push_back(call);
    }
  return calls;
}

std::vector<LayerSend> sends_of_layers(const Scenario& scenario, const CollectiveChoice& choice) {
  const Degrees degrees = degrees_of(scenario);
  std::optional<Pipeline> pipeline;
  if (degrees.pp > 1) pipeline = pipeline_of(scenario);
  std::vector<LayerSend> sends;
  for (LayerId l = 0; l < scenario.profile->layers.size(); ++l)
    for (const LayerCollective& one : scenario.profile->layers[l].collectives)
      if (sends_anything(one, degrees))
        sends.push_back(
            {{one.op, group_of(one, degrees, pipeline ? pipeline->rank_of(l) : 0), &choice.of(one.op)}, one.bytes});
  return sends;
}

namespace {

// The sizes of sends by chunk, from a given plan or from the profile.
std::vector<double> send_bytes(const Scenario& scenario, const Pipeline& pipeline) {
  return scenario.given ? send_bytes(scenario.given->plan, pipeline, *scenario.profile)
                        : send_bytes(pipeline, parallel_of(scenario), *scenario.profile);
}

[[noreturn]] void refuse_in_pipeline(const SourceLocation& place, std::string_view what, std::string_view remedy) {
  throw InputError(place, fmt::format("{} does not support pp above 1", what), remedy);
}

// Options of fsdp2 that a pipeline determines, with the only value that may be given; "": none.
constexpr std::pair<std::string_view, std::string_view> settled_options[] = {
    {"prefetch", ""}, {"reduce_buffers", ""}, {"copy", ""}, {"reshard", "none"}, {"reduce", "last"}};

void require_options_of_pipelines(const Scenario& scenario, const CollectiveChoice& choice) {
  const Options& options = scenario.options;
  if (scenario.codec) refuse_in_pipeline(scenario.place_of_codec, "codec", "no codec");
  if (options.strategy.sharding.shard_group > 0)
    refuse_in_pipeline(options.place_of("shard_group"), "shard_group", "shards among all data-parallel workers");
  if (scenario.stragglers.jitter) refuse_in_pipeline(scenario.cluster.place / "jitter", "jitter", "none");
  if (scenario.stragglers.spread && scenario.stragglers.spread->seed)
    refuse_in_pipeline(scenario.cluster.place / "spread/seed", "seed", "a spread without it");
  for (const auto& [name, only] : settled_options)
    if (const std::string option(name); is_fixed_in_pipelines(scenario, name) && options.places.contains(option) &&
                                        (only.empty() || options.get(option) != only))
      refuse_in_pipeline(
          options.place_of(option), name,
          only.empty() ? "leave it out: the schedule says when units are gathered" : fmt::format("{}={}", name, only));
  if (uses_server_legs(*choice.algorithm, choice.options))
    refuse_in_pipeline(place_of_collective(scenario), "local, or servers on hosts of their own,", "colocated servers");
}

// Rejects barriers that contradict each other, or tied tensors that no layer would wait for.
void require_barriers(const Scenario& scenario) {
  const ParallelOptions& parallel = parallel_of(scenario);
  if (scenario.options.strategy.barrier.value_or(scenario.strategy->barrier) != Barrier::Layer) return;
  if (parallel.update_barrier == UpdateBarrier::All)
    throw InputError(scenario.options.place_of("update_barrier"),
                     "update_barrier=all makes every update wait for all ranks, but barrier=layer makes each layer "
                     "wait only for itself",
                     "update_barrier=stage, or barrier=iteration");
  if (!scenario.profile->tied) return;
  const Pipeline pipeline = pipeline_of(scenario);
  const auto rank = [&](TensorId tensor) { return pipeline.rank_of(scenario.profile->tensors[tensor].layer); };
  if (rank(scenario.profile->tied->first) != rank(scenario.profile->tied->second))
    throw InputError(scenario.options.place_of("barrier"),
                     "tied tensors are summed after all reductions, and with barrier=layer nothing waits for that",
                     "barrier=iteration");
}

void require_p2p(const Scenario& scenario) {
  const ParallelOptions& parallel = parallel_of(scenario);
  if (parallel.p2p != P2p::Blocking) return;
  const bool alternates = !parallel.given && (parallel.schedule == "gpipe" || parallel.schedule == "1f1b");
  if (!alternates || scenario.options.strategy.sharding.accumulate < parallel.pp)
    throw InputError(
        scenario.options.place_of("p2p"),
        fmt::format(
            "p2p=blocking needs gpipe or 1f1b with at least as many micro-batches as ranks, not {} with {} on {}",
            parallel.schedule, scenario.options.strategy.sharding.accumulate, parallel.pp),
        "p2p=overlap");
}

}  // namespace

bool is_fixed_in_pipelines(const Scenario& scenario, std::string_view option) {
  return parallel_of(scenario).pipeline() && scenario.strategy->name == "fsdp2" &&
         std::any_of(std::begin(settled_options), std::end(settled_options),
                     [&](const auto& one) { return one.first == option; });
}

std::optional<std::int64_t> micro_batches_of_samples(const Scenario& scenario) {
  const std::int64_t at_once = degrees_of(scenario).dp * *scenario.profile->batch_size;
  if (*scenario.options.global_batch % at_once != 0) return std::nullopt;
  return *scenario.options.global_batch / at_once;
}

void refuse_pipelines(const Scenario& scenario, std::string_view what, std::string_view instead) {
  if (!parallel_of(scenario).pipeline()) return;
  throw InputError(scenario.options.place_of("pp"),
                   fmt::format("pp {}, but {} does not support pipelines yet", parallel_of(scenario).pp, what),
                   fmt::format("pp 1; or {}", instead));
}

bool overlaps_exchanges(const Scenario& scenario) { return parallel_of(scenario).ep_overlap; }

void require_ep_overlap(const Scenario& scenario) {
  const ParallelOptions& parallel = parallel_of(scenario);
  if (!parallel.ep_overlap || scenario.given) return;
  const auto refuse = [&](const std::string& wrong, std::string_view right) {
    throw InputError(
        scenario.options.place_of("ep_overlap"),
        fmt::format("ep_overlap exchanges tokens of one micro-batch while another computes, but {}", wrong),
        fmt::format("{}; or ep_overlap=false", right));
  };
  if (!parallel.pipeline()) refuse("there is no pipeline", "pp above 1");
  if (parallel.ep == 1) refuse("every worker has all experts", "ep above 1");
  if (parallel.given) refuse("a schedule file gives the order of actions", "schedule=interleaved or dualpipe-v");
  if (parallel.schedule != "interleaved" && parallel.schedule != "dualpipe-v")
    refuse(fmt::format("{} runs none side by side", parallel.schedule), "schedule=interleaved or dualpipe-v");
  if (parallel.p2p != P2p::Overlap) refuse("with p2p=blocking sends hold up computing", "p2p=overlap");
}

void require_strategy_of_pipelines(const Scenario& scenario) {
  if (!parallel_of(scenario).pipeline() || scenario.given) return;
  if (!plans_pipelines(*scenario.strategy))
    refuse_in_pipeline({fmt::format("--strategy {}", scenario.strategy->name), ""}, scenario.strategy->name,
                       "a strategy of blocks, such as ddp, or megatron or fsdp2");
  require_barriers(scenario);
}

namespace {

// True if prices assume that the groups of all pipeline ranks lie over the nodes in the same way. The messages of the
// detailed fidelities take the links between the workers that they are for, except those that NCCL's model prices.
bool assumes_even_groups(const CollectiveChoice& choice) {
  if (!choice.detailed()) return true;
  constexpr CollectiveOp all[] = {CollectiveOp::AllReduce, CollectiveOp::ReduceScatter, CollectiveOp::AllGather,
                                  CollectiveOp::AllToAll};
  return std::any_of(std::begin(all), std::end(all), [&](CollectiveOp op) {
    const Algorithm& one = choice.of(op);
    return one.grouped || one.in_switches || is_nccl({op, Group{}, &one});
  });
}

}  // namespace

void require_parallel(const Scenario& scenario, const CollectiveChoice& choice) {
  const Degrees degrees = degrees_of(scenario);
  const Network& network = scenario.cluster.network;
  std::vector<Group> groups{degrees.gradients()};
  if (scenario.options.strategy.sharding.has_expert_groups()) groups.push_back(degrees.expert_gradients());
  for (const Call& call : layer_calls(scenario, choice)) groups.push_back(call.group);
  if (assumes_even_groups(choice))
    for (const Group& group : groups)
      require_even(network, group, degrees.rank_workers(), scenario.workers,
                   place_of_workers(scenario, {"ep", "pp", "cp", "tp"}));
  if (scenario.options.strategy.sharding.has_expert_groups() && uses_server_legs(*choice.algorithm, choice.options))
    throw InputError(place_of_collective(scenario),
                     "local, or servers on hosts of their own, cannot be combined with ep: they sum among all workers",
                     "colocated servers, or ep 1");
  if (!choice.detailed())
    for (const Group& group : groups)
      if (group == degrees.gradients() || group == degrees.expert_gradients())
        price_call(network, {CollectiveOp::AllReduce, group, choice.algorithm}, scenario.workers,
                   scenario.cluster.workers, choice.options);
  if (!parallel_of(scenario).pipeline()) return;
  require_options_of_pipelines(scenario, choice);
  require_p2p(scenario);
  if (!choice.detailed()) send_costs(network, 0, 1, degrees.rank_workers(), scenario.workers, choice.options);
  const Pipeline pipeline = pipeline_of(scenario);
  if (scenario.strategy->name == "fsdp2")
    require_parameter_words(pipeline.rows, pipeline.index,
                            parallel_of(scenario).given ? SourceLocation{parallel_of(scenario).given->file, ""}
                                                        : scenario.options.place_of("schedule"));
  send_bytes(scenario, pipeline);
}

namespace {

// Returns the time of the layer's collectives in a pass, and sets that of its token exchanges.
Time inside(const Layer& layer, bool backward, LayerPrices& prices, PassExchanges& exchanges) {
  double all = 0, others = 0;
  for (const LayerCollective& one : layer.collectives) {
    if (one.backward != backward) continue;
    const double seconds = prices.seconds(one);
    all += seconds;
    if (one.group != LayerCollective::Among::Expert)
      others += seconds;
    else if (const Time time = to_time(seconds); time > Time(0))
      exchanges.each.push_back(time);
  }
  exchanges.total = to_time(all) - to_time(others);
  return to_time(all);
}

}  // namespace

ParallelSetup parallel_setup(const Scenario& scenario, const CollectiveChoice& choice, const Fabric* fabric) {
  ParallelSetup setup{.degrees = degrees_of(scenario),
                      .layers_alone = scenario.profile,
                      .profile = *scenario.profile,
                      .exchanges = {},
                      .pipeline = {},
                      .sends = {},
                      .slowdowns = {}};
  LayerPrices prices(scenario, choice, setup.degrees, fabric);
  const std::vector<Time> weights = setup.profile.weight_times();
  for (LayerId l = 0; l < setup.profile.layers.size(); ++l) {
    Layer& layer = setup.profile.layers[l];
    layer.backward_weight = weights[l];
    layer.forward = add(layer.forward, inside(layer, false, prices, setup.exchanges.forward.emplace_back()));
    layer.backward = add(layer.backward, inside(layer, true, prices, setup.exchanges.backward.emplace_back()));
  }
  if (setup.profile.host.of_blocks()) {
    // A block waits for the host only if it is faster together with its collectives.
    setup.profile = with_host_floors(std::move(setup.profile));
    Profile alone = without_host_floors(*setup.layers_alone);
    for (LayerId l = 0; l < alone.layers.size(); ++l) {
      Layer& layer = alone.layers[l];
      layer.forward_wait = setup.profile.layers[l].forward_wait;
      layer.backward_wait = setup.profile.layers[l].backward_wait;
      layer.forward = add(layer.forward, layer.forward_wait);
      layer.backward = add(layer.backward, layer.backward_wait);
    }
    setup.layers_alone = std::move(alone);
  }
  if (!parallel_of(scenario).pipeline()) return setup;
  setup.pipeline = pipeline_of(scenario);
  setup.sends = send_bytes(scenario, *setup.pipeline);
  const std::vector<double> slow = slowdowns(scenario.stragglers, scenario.workers, setup.degrees.pp);
  for (auto rank = slow.begin(); rank != slow.end(); rank += setup.degrees.rank_workers())
    setup.slowdowns.push_back(*std::max_element(rank, rank + setup.degrees.rank_workers()));
  return setup;
}

Profile without_exchanges(const ParallelSetup& setup) {
  Profile profile = setup.profile;
  for (LayerId l = 0; l < profile.layers.size(); ++l) {
    profile.layers[l].forward -= setup.exchanges.forward[l].total;
    profile.layers[l].backward -= setup.exchanges.backward[l].total;
  }
  return profile;
}

PipelineRequest pipeline_request(const Scenario& scenario, const ParallelSetup& setup, const BlockCost& cost) {
  return {*setup.pipeline,           setup.profile,         setup.sends, setup.slowdowns, *scenario.strategy,
          scenario.options.strategy, parallel_of(scenario), cost};
}

std::string parallel_caveats(const Scenario& scenario) {
  const ParallelOptions& parallel = parallel_of(scenario);
  std::string text;
  const auto say = [&](std::string what) { text += (text.empty() ? "" : "; ") + std::move(what); };
  if (!scenario.profile->degrees && (parallel.tp > 1 || parallel.cp > 1))
    say(fmt::format("{} has no degrees: it is used as that of one worker of a group of tp {} and cp {}",
                    scenario.profile->name, parallel.tp, parallel.cp));
  if (parallel.ep > 1 && !scenario.profile->has_experts())
    say("gradients of experts are reduced over all data-parallel workers, like all others");
  return text;
}

}  // namespace allreplay
