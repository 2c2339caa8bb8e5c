#include "sim/replay/training/job.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/plans/collective/nccl.hpp"
#include "sim/plans/collective/parameter_server.hpp"
#include "sim/plans/collective/send_cost.hpp"
#include "sim/plans/schedule/muon.hpp"
#include "sim/replay/network/alpha_beta.hpp"
#include "sim/replay/network/known_networks.hpp"
#include "sim/replay/network/launch.hpp"
#include "sim/replay/training/caveats.hpp"
#include "sim/replay/training/possible.hpp"
#include "sim/replay/training/sharding.hpp"

namespace allreplay {

namespace {

// Rejects collectives whose number of messages makes one take a quarter of an hour, at about 40 ns per message.
void require_feasible_duration(const Scenario& scenario, const CollectiveChoice& choice, const Fabric& fabric) {
  constexpr std::int64_t most_messages = 20'000'000'000;
  if (choice.fidelity == Fidelity::Message && fabric.messages(planned_call(scenario)) > most_messages)
    throw InputError(
        scenario.fidelity.empty() ? scenario.cluster.network.place / "fidelity" : scenario.place_of_fidelity,
        fmt::format("one {} among {} workers sends {:.2g} messages", choice.algorithm->name, scenario.workers,
                    static_cast<double>(fabric.messages(planned_call(scenario)))),
        "fluid, or fewer workers");
}

NetworkSetup setup_of(const Scenario& scenario, const CollectiveChoice& choice, const Topology& topology) {
  const Network& network = scenario.cluster.network;
  NetworkSetup setup;
  setup.fidelity = choice.fidelity;
  setup.workers = scenario.workers;
  const double outside = start_up_between(network), inside = start_up_inside(network, outside);
  setup.alpha = outside;
  if (const auto& node = network.node) {
    setup.alpha = std::min(inside, outside);
    setup.levels = {node->workers, inside - setup.alpha, outside - setup.alpha};
  } else if (on_rails(network) || (topology.gpus_per_host() > 1 && topology.group_size() == topology.gpus_per_host())) {
    // Consecutive ranks fill host after host, so hosts are nodes.
    setup.alpha = std::min(inside, outside);
    setup.levels = {topology.gpus_per_host(), inside - setup.alpha, outside - setup.alpha};
  }
  setup.rails = ports_of_a_node(network);
  if (network.nccl) setup.nccl = std::make_shared<Network>(nccl_levels(network));
  setup.gamma = network.gamma;
  setup.options = choice.options;
  setup.reuse = scenario.reuse;
  setup.rates = asks_for_rates(scenario);
  setup.calls = {planned_call(scenario)};
  setup.calls.front().algorithm = &choice.of(setup.calls.front().op);
  setup.place = place_of_collective(scenario);
  return setup;
}

std::vector<ServerLeg> legs_of(const Scenario& scenario, const CollectiveChoice& choice) {
  if (!uses_server_legs(*choice.algorithm, choice.options) || scenario.workers == 1) return {};
  return server_legs(scenario.cluster.network, *choice.algorithm, scenario.workers, scenario.cluster.workers,
                     choice.options);
}

// The price of a call in alpha-beta. It is the same for all ranks of a pipeline; between two ranks, sends decide it.
ChannelCost price_of(Call call, const Scenario& scenario, const CollectiveChoice& choice) {
  if (call.group.ranks == 1) return {CommCost(0, 0), Channels{0}};
  const Network& network = scenario.cluster.network;
  if (const auto& pair = call.group.members; !pair.empty()) {
    const std::int64_t rank_workers = call.group.repeats;
    const LinkCosts send = send_costs(network, pair[0] / rank_workers, pair[1] / rank_workers, rank_workers,
                                      scenario.workers, choice.options);
    if (call.op == CollectiveOp::Send) return {CommCost(send.alpha, send.beta)};
    return {tied_cost(*choice.algorithm, send, choice.options)};
  }
  call.group.first = 0;
  const auto [cost, channels] = price_call(network, call, scenario.workers, scenario.cluster.workers, choice.options);
  return {cost, channels};
}

ChannelCosts prices_of(const std::vector<Call>& calls, const Scenario& scenario, const CollectiveChoice& choice) {
  ChannelCosts costs;
  for (const Call& call : calls) costs.push_back(price_of(call, scenario, choice));
  return costs;
}

std::shared_ptr<const Fabric> with_launches(std::shared_ptr<const Fabric> fabric, const Options& options,
                                            Legs legs = {}, bool (*is_launched)(const Call& call) = nullptr) {
  if (options.launch == Time(0) && options.launch_tensor == Time(0) && legs.empty()) return fabric;
  return std::make_shared<LaunchedFabric>(std::move(fabric), options.launch, std::move(legs), options.launch_tensor,
                                          is_launched);
}

// The fabric of alpha-beta. An all-reduce by parameter servers passes all legs to the servers and back.
// `more`: calls in addition to the usual ones.
std::shared_ptr<const Fabric> on_channels(const Scenario& scenario, const CollectiveChoice& choice,
                                          std::vector<Call> more = {}) {
  std::vector<Call> calls = possible_calls(scenario, choice);
  std::move(more.begin(), more.end(), std::back_inserter(calls));
  ChannelCosts costs = prices_of(calls, scenario, choice);
  const std::vector<ServerLeg> server_legs = legs_of(scenario, choice);
  Legs legs(server_legs.empty() ? 0 : calls.size());
  for (const ServerLeg& leg : server_legs) {
    for (CallId id = 0; id < legs.size(); ++id)
      if (calls[id].op == CollectiveOp::AllReduce || calls[id].op == leg.call.op)
        legs[id].push_back(static_cast<CallId>(calls.size()));
    calls.push_back(leg.call);
    costs.push_back({leg.cost, leg.channels});
  }
  return with_launches(std::make_shared<AlphaBetaFabric>(std::move(calls), scenario.workers, std::move(costs),
                                                         scenario.options.sharing, asks_for_rates(scenario)),
                       scenario.options, std::move(legs));
}

// The calls of a pipeline: inside layers, of gradients, sends between ranks, and the sum of tied tensors.
std::vector<Call> calls_of_pipeline(const Scenario& scenario, const CollectiveChoice& choice) {
  const Degrees degrees = degrees_of(scenario);
  std::vector<Call> calls = layer_calls(scenario, choice);
  const bool shards = shards_state(scenario) || scenario.strategy->searched();
  const bool experts = scenario.options.strategy.sharding.has_expert_groups();
  for (std::int64_t rank = 0; rank < degrees.pp; ++rank)
    for (const CollectiveOp op : {CollectiveOp::AllReduce, CollectiveOp::ReduceScatter, CollectiveOp::AllGather}) {
      if (!shards && op != CollectiveOp::AllReduce) continue;
      calls.emplace_back(op, degrees.gradients(rank), &choice.of(op));
      if (experts) calls.emplace_back(op, degrees.expert_gradients(rank), &choice.of(op));
    }
  const Pipeline pipeline = pipeline_of(scenario);
  for (const auto& [from, to] : pairs_of(pipeline, scenario.profile))
    calls.emplace_back(CollectiveOp::Send, degrees.pairs(from, to), choice.algorithm);
  if (const auto& tied = scenario.profile->tied) {
    const std::uint32_t from = pipeline.rank_of(scenario.profile->tensors[tied->first].layer),
                        to = pipeline.rank_of(scenario.profile->tensors[tied->second].layer);
    if (from != to)
      calls.emplace_back(CollectiveOp::AllReduce, degrees.pairs(from, to), &algorithm_of_tied(*choice.algorithm));
  }
  return calls;
}

Job pipeline_job(Job made) {
  const Scenario& scenario = made.scenario;
  std::vector<Call> calls = calls_of_pipeline(scenario, made.choice);
  if (made.choice.detailed()) {  // ranks share the topology
    made.topology = topology_of(scenario);
    made.setup = setup_of(scenario, made.choice, *made.topology);
    made.setup.calls = std::move(calls);
    made.fabric = made.rounds = laid(made);
  } else {
    ChannelCosts costs = prices_of(calls, scenario, made.choice);
    made.fabric = std::make_shared<AlphaBetaFabric>(std::move(calls), scenario.workers, std::move(costs),
                                                    scenario.options.sharing, asks_for_rates(scenario));
  }
  made.fabric = with_launches(made.fabric, scenario.options, {}, is_launched);
  made.parallel = std::make_shared<ParallelSetup>(parallel_setup(scenario, made.choice, made.rounds.get()));
  made.warning = parallel_caveats(scenario);
  return made;
}

// Sets the times of Muon's matrices that the profile does not state.
void set_muon_times(Scenario& scenario) {
  const auto plan = scenario.given ? &scenario.given->plan : nullptr;
  const bool runs = plan ? plan->memory_policy.single_moment > 0
                         : scenario.strategy && scenario.options.strategy.muon.optimizer == StepOptimizer::Muon;
  if (!runs) return;
  for (const TensorId id : muon_matrices(scenario.profile)) {
    if (scenario.profile->tensors[id].muon) continue;
    if (!scenario.product_rate)
      throw InputError(scenario.options.place_of("optimizer"),
                       fmt::format("the time of Muon's Newton-Schulz of '{}' is not known, nor the speed of the "
                                   "profile's device",
                                   scenario.profile->tensors[id].name),
                       "\"muon_us\" in the profile's tensors, or a device of `allreplay list devices`");
    Tensor& tensor = scenario.profile.own().tensors[id];
    tensor.muon = to_time(operations_of(tensor) / *scenario.product_rate);
  }
}

}  // namespace

std::shared_ptr<const RoundsFabric> laid(const Job& job) {
  const auto& networks = job.scenario.networks;
  return networks ? networks->lay_on(job.setup, job.topology) : lay_on(job.setup, *job.topology);
}

Job job_of(Scenario of) {
  Job made{.scenario = std::move(of)};
  const Scenario& scenario = made.scenario;
  made.choice = require_possible(scenario);
  set_muon_times(made.scenario);
  if (scenario.profile->host.of_blocks()) made.scenario.profile = with_host_floors(*scenario.profile);
  if (scenario.options.parallel.pipeline()) return pipeline_job(std::move(made));
  if (scenario.options.parallel.any() && !made.choice.detailed()) {
    made.parallel = std::make_shared<ParallelSetup>(parallel_setup(scenario, made.choice));
    made.scenario.profile = Shared<Profile>(made.parallel->profile);
  }
  made.compression = compression_of(scenario, *made.choice.algorithm, 1);
  made.warning = caveats_of(scenario, made.choice, made.compression);
  if (!made.choice.detailed()) {
    made.fabric = on_channels(scenario, made.choice);
    return made;
  }
  made.topology = topology_of(scenario);
  made.setup = setup_of(scenario, made.choice, *made.topology);
  if (scenario.options.parallel.any())
    for (Call& call : layer_calls(scenario, made.choice)) made.setup.calls.push_back(std::move(call));
  made.rounds = laid(made);
  made.fabric = with_launches(made.rounds, scenario.options);
  if (scenario.options.parallel.any()) {
    made.parallel = std::make_shared<ParallelSetup>(parallel_setup(scenario, made.choice, made.rounds.get()));
    made.scenario.profile = Shared<Profile>(made.parallel->profile);
  }
  require_within_clock(scenario, {made.fabric->price(planned_call(scenario)), made.compression});
  require_feasible_duration(scenario, made.choice, *made.fabric);
  return made;
}

BlockCost price_of_blocks(const Job& job) {
  return {job.fabric->price(planned_call(job.scenario)),
          compression_of(job.scenario, *job.choice.algorithm, slowest_factor(job.scenario)),
          job.fabric->launch_of_tensor()};
}

Unrolled unroll_job(const Job& job, const Plan& plan, const std::vector<WorkerClass>& classes, bool exchanging) {
  const Scenario& scenario = job.scenario;
  const std::int64_t shards = !plan.pipeline                     ? plan.sharding.optimizer_shards(scenario.workers)
                              : plan.sharding.shards_optimizer() ? job.parallel->degrees.gradient_workers()
                                                                 : 1;
  if (!exchanging)
    return unroll(without_exchanges(*job.parallel), plan, classes, job.fabric.get(), job.compression, shards);
  return unroll(job.parallel ? job.parallel->profile : *scenario.profile, plan, classes, job.fabric.get(),
                job.compression, shards, scenario.options.start == Start::Ranks,
                job.parallel ? &job.parallel->exchanges : nullptr);
}

Time inside_layers(const Job& job, const Label& label) {
  const bool backward = label.kind == Activity::Backward || label.kind == Activity::BackwardInput;
  if (!job.parallel || (!backward && label.kind != Activity::Forward)) return Time(0);
  const Layer &with = job.parallel->profile.layers[label.item], &alone = job.parallel->layers_alone->layers[label.item];
  const Time all = backward ? with.backward - alone.backward : with.forward - alone.forward;
  return label.in_pair ? all - job.parallel->exchanges.of(label.kind, label.item).total : all;
}

Time exchanges_of(const Job& job, const Label& label) {
  const bool pass = is_pass(label.kind) && label.kind != Activity::BackwardWeight;
  return job.parallel && pass ? job.parallel->exchanges.of(label.kind, label.item).total : Time(0);
}

void add_interference(System& system, std::uint32_t first_stream, std::uint32_t network, CallId first_call,
                      const Job& job, const std::vector<WorkerClass>& classes) {
  const std::vector<Call>& calls = job.fabric->calls();
  const auto add = [&](std::vector<Group> among, std::vector<std::uint32_t> on) {
    for (std::uint32_t& stream : on) stream += first_stream;
    const auto is_felt = [&calls, first_call, among = std::move(among)](CallId call) {
      const CallId own = call - first_call;  // wraps around, and is too large, for another job's call before first_call
      return own < calls.size() &&
             (among.empty() || std::find(among.begin(), among.end(), calls[own].group) != among.end());
    };
    system.influences.push_back(felt(*job.scenario.cluster.interference, network, std::move(on)));
    system.influences.back().load_of = [is_felt](const Server& from) { return from.load_of(is_felt); };
  };
  const std::int64_t ranks = job.scenario.options.parallel.pp;
  if (ranks == 1) add({}, classes_of(classes, std::nullopt));
  for (std::uint32_t rank = 0; ranks > 1 && rank < ranks; ++rank)
    add({job.parallel->degrees.gradients(rank), job.parallel->degrees.expert_gradients(rank)},
        classes_of(classes, rank));
}

Job prepared_for(const Plan& plan, Job job) {
  if (job.scenario.options.parallel.pipeline()) return job;
  std::vector<Call> more;
  for (Call& call : calls_of(plan))
    if (!job.fabric->offers(call)) {
      call.algorithm = &job.choice.of(call.op);
      call.group = call.group.of(job.scenario.workers);
      more.push_back(std::move(call));
    }
  if (more.empty()) return job;
  if (!job.choice.detailed()) {
    job.fabric = on_channels(job.scenario, job.choice, std::move(more));
    return job;
  }
  std::move(more.begin(), more.end(), std::back_inserter(job.setup.calls));
  job.rounds = laid(job);
  job.fabric = with_launches(job.rounds, job.scenario.options);
  return job;
}

}  // namespace allreplay
