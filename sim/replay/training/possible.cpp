#include "sim/replay/training/possible.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "sim/plans/collective/nccl.hpp"
#include "sim/plans/collective/parameter_server.hpp"
#include "sim/plans/schedule/needs.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/replay/training/sharding.hpp"

namespace allreplay {

bool on_rails(const Network& network) {
  return network.topology ? has_ports(*network.topology) : network.node.has_value();
}

std::int64_t ports_of_a_node(const Network& network) {
  if (network.node) return network.node->rails;
  return on_rails(network) ? network.topology->ports_of_host() : 1;
}

bool asks_for_rates(const Scenario& scenario) {
  return scenario.cluster.interference && scenario.cluster.interference->at;
}

// Returns the payload of each tensor for a file's codec whose bytes depend on shapes.
std::shared_ptr<const TensorPayloads> payloads_of(const Scenario& scenario, const CodecOptions& options) {
  const CodecFormula* formula = scenario.codec->formula.get();
  if (!formula || !formula->is_by_shape()) return nullptr;
  auto payloads = std::make_shared<TensorPayloads>();
  double bytes = 0, gradients = 0;
  for (const Tensor& tensor : scenario.profile->tensors) {
    const std::vector<std::int64_t> shape = shape_of(tensor);
    const auto elements = static_cast<double>(tensor.elements), rows = static_cast<double>(shape.front());
    payloads->bytes.push_back((*formula)(rows, elements / rows, elements, options));
    payloads->gradients.push_back(tensor.bytes);
    bytes += payloads->bytes.back();
    gradients += static_cast<double>(tensor.bytes);
  }
  payloads->mean = bytes / gradients;
  return payloads;
}

std::optional<Compression> compression_of(const Scenario& scenario, const Algorithm& algorithm, double slowdown) {
  if (!scenario.codec || scenario.profile->tensors.empty()) return std::nullopt;
  CodecOptions options = scenario.options.codec;
  if (!options.decode_at && scenario.strategy) options.decode_at = scenario.strategy->decode_at;
  const Tensor& tensor = scenario.profile->tensors.front();
  return Compression(*scenario.codec, options, algorithm.operation == CollectiveOp::AllGather ? scenario.workers : 1,
                     tensor.bytes / tensor.elements, slowdown, payloads_of(scenario, options));
}

constexpr double longest_iteration_s = 1e5;  // over a day, which indicates a wrong unit

const SourceLocation& blamed_for_times(const Scenario& scenario) {
  const SourceLocation& changed = scenario.place_of_speed;
  return changed.file.empty() ? scenario.cluster.network.place : changed;
}

// Each cost may be acceptable while an iteration is too long.
void require_within_clock(const Scenario& scenario, const BlockCost& cost) {
  double sending = 0, coding = 0;
  const auto seconds = [](const auto& time) {
    try {
      return to_seconds(time());
    } catch (const TimeOverflow&) {
      return longest_iteration_s * 2;
    }
  };
  const auto count = [&](Bytes bytes) {
    sending += seconds([&] { return cost(bytes); });
    if (const auto& codec = cost.compression())
      coding += seconds([&] { return add(codec->encode(bytes), codec->decode(bytes)); });
  };
  count(scenario.profile->bytes());
  for (const Tensor& tensor : scenario.profile->tensors) count(tensor.bytes);
  if (coding > longest_iteration_s)
    throw InputError(scenario.place_of_codec, "encoding and decoding would take over a day per iteration",
                     "check the units in the codec's file and in the options encode and decode");
  if (sending + coding > longest_iteration_s)
    throw InputError(blamed_for_times(scenario),
                     fmt::format("{} workers would communicate for over a day per iteration", scenario.workers),
                     "check the units of latencies, bandwidths or measured times");
}

namespace {

// Rejects plans that would take hours to make or fill the memory. `best` reads `partition` for other strategies.
void require_feasible(const Scenario& scenario) {
  if (!scenario.strategy) return;
  const Strategy& strategy = *scenario.strategy;
  const StrategyOptions& options = scenario.options.strategy;
  const Profile& profile = scenario.profile;
  const bool cuts = std::find(strategy.options.begin(), strategy.options.end(), "partition") != strategy.options.end();
  const Bytes slices =
      cuts && options.partition ? profile.bytes() / *options.partition : strategy.slices(profile, options);
  if (slices > most_slices)
    throw InputError(scenario.options.place_of("partition"),
                     fmt::format("{} cut {} into more than {} slices",
                                 write_size(options.partition.value_or(profile.bytes() / slices)),
                                 format_size(profile.bytes()), most_slices),
                     fmt::format("at least {}", format_size(profile.bytes() / most_slices + 1)));
  if (!strategy.comparisons) return;
  const double comparisons = strategy.comparisons(options, static_cast<double>(scenario.profile->tensors.size()));
  if (comparisons > most_comparisons)
    throw InputError({scenario.profile->name, ""},
                     fmt::format("{} compares {:.2g} plans or parts of plans of {} tensors", strategy.name, comparisons,
                                 scenario.profile->tensors.size()),
                     fmt::format("at most {:.0e}: another strategy{}, or fewer tensors", most_comparisons,
                                 strategy.name == "mergecomp" ? ", fewer groups" : ""));
}

// Rejects iterations whose graph of tasks would take gigabytes.
void require_feasible_step(const Scenario& scenario) {
  constexpr std::int64_t most_pieces = 1'000'000;
  const StrategyOptions& options = scenario.options.strategy;
  ShardingConfig sharding = options.sharding;
  if (scenario.strategy && !scenario.given) sharding.zero = stage_of(scenario);
  if (scenario.strategy && !scenario.given && scenario.strategy->local_steps)
    sharding.sync_every = options.outer.sync_every;
  require_bearable_passes(sharding, scenario.profile, scenario.options.place_of("accumulate"));
  if (options.zero.allgather_bucket > 0 && scenario.profile->elements() / options.zero.allgather_bucket > most_pieces)
    throw InputError(
        scenario.options.place_of("allgather_bucket"),
        fmt::format("{} elements at a time are more than {} gathers", options.zero.allgather_bucket, most_pieces),
        fmt::format("at least {}", scenario.profile->elements() / most_pieces + 1));
  if (const auto& bucket = options.outer.bucket; bucket && scenario.profile->bytes() / *bucket > most_pieces)
    throw InputError(scenario.options.place_of("bucket"),
                     fmt::format("{} cut {} into more than {} buckets", write_size(*bucket),
                                 format_size(scenario.profile->bytes()), most_pieces),
                     fmt::format("at least {}", format_size(scenario.profile->bytes() / most_pieces + 1)));
}

// Rejects collectives with too many messages. `message` keeps every message of every distinct round, about 230 bytes
// each. `fluid` walks the messages of rounds without a closed form, about twenty million per second. Messages count
// once for each route that they take.
void require_feasible(const Scenario& scenario, const CollectiveChoice& choice, const Rounds& rounds,
                      const Topology& topology) {
  const bool message = choice.fidelity == Fidelity::Message;
  const std::size_t most = message ? 20'000'000 : 50'000'000;
  const bool one_way = topology.routing().kind == Routing::Kind::ByDestination;
  std::uint64_t count = 0, in_one_part = 0;
  std::vector<Send> sends;
  for (const Round& round : rounds.rounds) {
    if (!message && ((round.all_pairs && one_way) || round.in_switches)) continue;
    for (Rank rank = 0; rank < rounds.ranks && in_one_part <= most; ++rank) {
      sends.clear();
      round.sends(rank, 0, sends);
      in_one_part += sends.size();
      if (one_way)
        count += sends.size();
      else if (count <= most)
        for (const Send& send : sends) count += message ? topology.parts() : topology.ways_walked(rank, send.to);
    }
  }
  if (count <= most) return;
  const bool sprays = topology.routing().kind == Routing::Kind::Adaptive;
  const std::string_view routing = one_way                         ? ""
                                   : sprays && in_one_part <= most ? ", or ecmp or d-mod-k"
                                                                   : ", or d-mod-k";
  throw InputError(scenario.fidelity.empty() ? scenario.cluster.network.place / "fidelity" : scenario.place_of_fidelity,
                   fmt::format("{} among {} workers has more than {} messages {}", choice.algorithm->name,
                               scenario.workers, most, message ? "at a time" : "in its rounds"),
                   fmt::format("{}, or fewer workers{}{}", message ? "fluid" : "alpha-beta",
                               choice.algorithm->servers ? " or servers" : "", routing));
}

// With jitter, each worker has its own program and times.
void require_feasible_jitter(const Scenario& scenario) {
  if (!scenario.stragglers.jitter || scenario.operation) return;
  constexpr std::int64_t most_passes = 3'000'000;
  const std::int64_t passes =
      2 * static_cast<std::int64_t>(scenario.profile->layers.size()) * scenario.options.strategy.sharding.accumulate;
  if (scenario.workers > most_passes / passes)
    throw InputError(
        scenario.cluster.place / "jitter",
        fmt::format("{} workers of {} passes each are more than {}", scenario.workers, passes, most_passes),
        passes > most_passes ? "fewer layers" : fmt::format("at most {} workers", most_passes / passes));
}

// Returns the collective's rounds; for NCCL, those of its algorithm with the most messages.
Rounds most_rounds(const Scenario& scenario, const CollectiveChoice& choice, CollectiveOp op) {
  const bool nccl = is_nccl({op, Group{}, &choice.of(op)});
  CollectiveOptions options = choice.options;
  if (nccl) options.rails = ports_of_a_node(scenario.cluster.network);
  const Algorithm& algorithm =
      nccl ? nccl_algorithm(op == CollectiveOp::AllReduce ? "tree" : "ring", op) : choice.of(op);
  return rounds_of(algorithm, scenario.workers, options, op, place_of_collective(scenario));
}

// On rails, a hierarchy needs full nodes. On other topologies it would run as a ring, with a warning (caveats_of()).
void require_full_nodes(const Scenario& scenario, const Algorithm& algorithm) {
  if (!algorithm.grouped || !on_rails(scenario.cluster.network)) return;
  const std::int64_t size = workers_together(scenario);
  if (scenario.workers <= size || scenario.workers % size == 0) return;
  throw InputError(place_of_collective(scenario),
                   fmt::format("{} does not support {} workers in nodes of {}: the last node has {}", algorithm.name,
                               scenario.workers, size, scenario.workers % size),
                   fmt::format("a multiple of {}, or ring", size));
}

// Names the collectives that can carry the scenario's operations.
std::string fitting(const Scenario& scenario) {
  if (!scenario.codec) return "an all-reduce, such as ring";
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms())
    if (carries(algorithm, *scenario.codec->codec)) names.push_back(algorithm.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void require_carried(const Scenario& scenario, const Algorithm& algorithm) {
  if (scenario.profile->tensors.empty()) return;
  if (!scenario.codec && algorithm.operation != CollectiveOp::AllReduce)
    throw InputError(place_of_collective(scenario), fmt::format("{} does not sum gradients", algorithm.name),
                     fitting(scenario));
  if (scenario.codec && !carries(algorithm, *scenario.codec->codec))
    throw InputError(place_of_collective(scenario),
                     fmt::format("{} cannot carry the output of {}", algorithm.name, scenario.codec->codec->name),
                     fitting(scenario));
  // gTop-k's Algorithm 3 works in pairs of ranks, so that other numbers have no cost either.
  if (algorithm.operation == CollectiveOp::Selection &&
      !std::has_single_bit(static_cast<std::uint64_t>(scenario.workers)))
    throw InputError(place_of_collective(scenario),
                     fmt::format("{} does not support {} workers", algorithm.name, scenario.workers),
                     "a power of two, or --collective topk-allgather");
}

// Rejects servers in the detailed fidelities: legs are priced in closed form, and topologies have no links of servers.
void require_servers(const Scenario& scenario, const CollectiveChoice& choice) {
  if (choice.algorithm->servers && choice.detailed() && scenario.cluster.network.server)
    throw InputError(
        scenario.cluster.network.place / "server",
        fmt::format("{} runs on the links of the topology, which has none for servers", to_string(choice.fidelity)),
        "the fidelity alpha-beta");
  if (!uses_server_legs(*choice.algorithm, choice.options)) return;
  const bool local = choice.options.local;
  const SourceLocation place = scenario.options.place_of(local ? "local" : "server_hosts");
  if (choice.detailed())
    throw InputError(place,
                     fmt::format("{} does not support {}", to_string(choice.fidelity),
                                 local ? "sums inside nodes" : "servers on hosts of their own"),
                     "the fidelity alpha-beta");
  if (shards_state(scenario))
    throw InputError(place, "parameter servers hold the state, which cannot be sharded", "ring, for example");
  if (scenario.workers > 1)
    server_legs(scenario.cluster.network, *choice.algorithm, scenario.workers, scenario.cluster.workers,
                choice.options);
}

void require_interference(const Scenario& scenario, const CollectiveChoice& choice) {
  if (asks_for_rates(scenario) && choice.fidelity == Fidelity::Message)
    throw InputError(scenario.cluster.place / "interference" / "at",
                     "in message a block has no rate: its bytes move message by message",
                     "alpha-beta or fluid, or interference without a rate");
}

// Checks a collective that sums in switches: it needs a tree of switches above full hosts, each of which sums first.
void require_hosts_of_switches(const Scenario& scenario, const CollectiveChoice& choice) {
  if (!choice.algorithm->in_switches || scenario.workers == 1) return;
  const auto refuse = [&](const std::string& wrong, const std::string& right) {
    throw InputError(place_of_collective(scenario), fmt::format("{} {}", choice.algorithm->name, wrong), right);
  };
  const auto spec = topology_of(scenario.cluster.network);
  if (spec && !has_switch_trees(spec->kind))
    refuse(fmt::format("has no tree of switches on a {}", kind_name(spec->kind)), "star, leaf-spine, fat-tree or rail");
  if (scenario.options.strategy.sharding.has_expert_groups())
    refuse("sums among all workers, not among those that hold the same experts (ep)", "ring, for example");
  if (const auto& group = scenario.options.strategy.sharding.shard_group; group != 0 && group != scenario.workers)
    refuse("sums among all workers, not in shard groups", "ring, for example");
  const std::int64_t gpus = gpus_of_a_host(scenario.cluster.network);
  if (gpus == 1) return;
  if (scenario.workers <= gpus)
    refuse(fmt::format("has no switch above the {} workers of one host", scenario.workers), "more hosts, or ring");
  if (scenario.workers % gpus != 0)
    refuse(fmt::format("does not support {} workers on hosts of {}: the last host is only partly filled",
                       scenario.workers, gpus),
           fmt::format("a multiple of {}", gpus));
  if (spec && !fills_hosts(*spec))
    refuse("sums in hosts first, but ranks are distributed over hosts", "a placement that fills hosts");
}

void require_switches(const Scenario& scenario, const CollectiveChoice& choice, const Topology& topology) {
  if (!choice.algorithm->in_switches) return;
  const std::int64_t gpus = topology.gpus_per_host();
  const std::int64_t trees = std::min<std::int64_t>(gpus, ports_of_a_node(scenario.cluster.network));
  for (std::int64_t tree = 0; tree < trees; ++tree) {
    std::vector<NodeId> ranks;
    for (NodeId rank = 0; rank < scenario.workers; ++rank)
      if (rank % gpus % trees == tree) ranks.push_back(rank);
    for (const LinkId link : topology.tree_above(static_cast<std::uint32_t>(tree), ranks))
      if (topology.links()[link].bandwidth <= 0)
        throw InputError(place_of_collective(scenario),
                         fmt::format("{} needs the link from {} to {}, which is down", choice.algorithm->name,
                                     topology.name(topology.port(link)), topology.name(topology.port(link ^ 1U))),
                         "ring, for example");
  }
}

// Rejects collectives that lack one of the two halves.
void require_halves(const Scenario& scenario, const CollectiveChoice& choice) {
  for (const CollectiveOp op : {CollectiveOp::ReduceScatter, CollectiveOp::AllGather})
    if (!choice.has(op))
      throw InputError(place_of_collective(scenario),
                       fmt::format("{} has no reduce-scatter and all-gather halves", choice.of(op).name),
                       "ring, for example");
}

}  // namespace

std::vector<Call> possible_calls(const Scenario& scenario, const CollectiveChoice& choice) {
  if (scenario.operation)
    return {{*scenario.operation, everybody().of(scenario.workers), &choice.of(*scenario.operation)}};
  std::vector<Call> calls;
  const std::vector<NamedGroup> groups = data_parallel_groups(scenario.options.strategy.sharding);
  for (std::size_t family = 0; family < groups.size(); ++family) {
    if (family != group_all && family != group_expert && !shards_state(scenario)) continue;
    const Group group = groups[family].group.of(scenario.workers);
    for (const CollectiveOp op : {CollectiveOp::AllReduce, CollectiveOp::ReduceScatter, CollectiveOp::AllGather})
      if (const Call call(op, group, &choice.of(op));
          choice.has(op) && std::find(calls.begin(), calls.end(), call) == calls.end())
        calls.push_back(call);
  }
  return calls;
}

namespace {

// Checks that the collectives support the smaller numbers of workers in shard groups.
void require_groups_served(const Scenario& scenario, const CollectiveChoice& choice) {
  CollectiveOptions options = choice.options;
  options.groups = 1;  // for hierarchical; the fabric finds the groups of fewer workers
  for (const Call& call : possible_calls(scenario, choice)) {
    if (call.group.ranks == 1 || call.group.ranks == scenario.workers) continue;
    if (is_nccl(call)) continue;  // supports any number
    if (choice.detailed())
      rounds_of(*call.algorithm, call.group.ranks, options, call.op, place_of_collective(scenario));
    else
      price_call(scenario.cluster.network, call, scenario.workers, scenario.cluster.workers, choice.options);
  }
}

// With more than data parallelism, only groups are priced, never all workers.
CollectiveChoice require_parallel_possible(const Scenario& scenario, CollectiveChoice choice) {
  require_carried(scenario, *choice.algorithm);
  require_interference(scenario, choice);
  require_feasible(scenario);
  require_feasible_step(scenario);
  require_parallel(scenario, choice);
  require_sharding(scenario);
  return choice;
}

}  // namespace

CollectiveChoice require_possible(const Scenario& scenario) {
  require_ep_overlap(scenario);
  CollectiveChoice choice = collective_of(scenario);
  if (scenario.options.parallel.any()) return require_parallel_possible(scenario, std::move(choice));
  const bool split = scenario.strategy && (scenario.strategy->split || shards_state(scenario)) && !choice.gathers();
  if (split && scenario.workers > 1) require_halves(scenario, choice);
  if (scenario.given && scenario.strategy->split && choice.gathers())
    throw InputError({scenario.given->file, "/transfers"},
                     fmt::format("{} gathers payloads, and has no reduce-scatter", choice.algorithm->name),
                     "all-reduces, which mean the whole collective");
  const Network& network = scenario.cluster.network;
  require_carried(scenario, *choice.algorithm);
  require_servers(scenario, choice);
  if (choice.algorithm->servers && choice.options.server_hosts == ServerHosts::Colocated &&
      choice.options.servers > scenario.workers)
    throw InputError(scenario.options.place_of("servers"),
                     fmt::format("{} servers do not fit on {} workers", choice.options.servers, scenario.workers),
                     "at most one server per worker");
  require_interference(scenario, choice);
  if (scenario.options.start == Start::Ranks && choice.fidelity != Fidelity::Message)
    throw InputError(scenario.options.place_of("start"),
                     fmt::format("{} cannot start ranks separately", to_string(choice.fidelity)),
                     "fidelity message, or start=together");
  require_feasible(scenario);
  require_feasible_step(scenario);
  require_feasible_jitter(scenario);
  require_sharding(scenario);
  require_hosts_of_switches(scenario, choice);
  if (!choice.detailed()) {
    require_within_clock(scenario,
                         {price(network, *choice.algorithm, scenario.workers, scenario.cluster.workers, choice.options),
                          compression_of(scenario, *choice.algorithm, 1)});
    require_groups_served(scenario, choice);
    return choice;
  }
  const auto topology = topology_of(scenario);
  if (scenario.workers <= 1) return choice;
  require_switches(scenario, choice, *topology);
  for (const Algorithm* algorithm : {choice.algorithm, choice.reduce_scatter, choice.all_gather})
    require_full_nodes(scenario, *algorithm);
  std::vector<CollectiveOp> ops{scenario.operation.value_or(CollectiveOp::AllReduce)};
  if (split) ops.insert(ops.end(), {CollectiveOp::ReduceScatter, CollectiveOp::AllGather});
  for (const CollectiveOp op : ops) {
    const Rounds rounds = most_rounds(scenario, choice, op);
    require_feasible(scenario, choice, rounds, *topology);
  }
  require_groups_served(scenario, choice);
  return choice;
}

}  // namespace allreplay
