#include "sim/training/communication.hpp"

#include <algorithm>
#include <bit>
#include <cctype>

#include <fmt/format.h>

#include "sim/cluster/make_topology.hpp"
#include "sim/collective/parameter_server.hpp"
#include "sim/network/alpha_beta.hpp"
#include "sim/network/launch.hpp"
#include "sim/schedule/needs.hpp"
#include "sim/training/sharding.hpp"

namespace allreplay {

namespace {

constexpr double longest_iteration_s = 1e5;  // over a day: a mistaken unit, and soon the end of the clock

// The costs may each be acceptable, and an iteration yet beyond the clock: said before anything is simulated.
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
                     "check the units in the codec's file, and of the options encode and decode");
  if (sending + coding > longest_iteration_s)
    throw InputError(scenario.cluster.network.place,
                     fmt::format("{} workers would communicate for over a day per iteration", scenario.workers),
                     "check the units of alpha, beta or what was measured");
}

// What would fill the memory, or take hours, before anything is simulated. `best` reads `partition` for others.
void require_bearable(const Scenario& scenario) {
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

// A graph of so many tasks takes gigabytes.
void require_bearable_step(const Scenario& scenario) {
  constexpr std::int64_t most_pieces = 1'000'000;
  const StrategyOptions& options = scenario.options.strategy;
  require_bearable_passes(options.step, scenario.profile, scenario.options.place_of("accumulate"));
  if (options.zero.allgather_bucket > 0 && scenario.profile->elements() / options.zero.allgather_bucket > most_pieces)
    throw InputError(
        scenario.options.place_of("allgather_bucket"),
        fmt::format("{} elements at a time are more than {} gathers", options.zero.allgather_bucket, most_pieces),
        fmt::format("at least {}", scenario.profile->elements() / most_pieces + 1));
}

// `message` keeps every message of every distinct round, and has a round's in flight together: some 230 bytes each.
void require_bearable(const Scenario& scenario, const Carrier& carrier, const Rounds& rounds) {
  constexpr std::size_t most_kept = 20'000'000;
  std::size_t kept = 0;
  std::vector<Send> sends;
  for (const Round& round : rounds.rounds)
    for (Rank rank = 0; rank < rounds.ranks && kept <= most_kept; ++rank) {
      sends.clear();
      round.sends(rank, 0, sends);
      kept += sends.size();
    }
  if (kept > most_kept)
    throw InputError(
        scenario.fidelity.empty() ? scenario.cluster.network.place / "fidelity" : scenario.place_of_fidelity,
        fmt::format("{} among {} workers has more than {} messages at a time", carrier.algorithm->name,
                    scenario.workers, most_kept),
        carrier.algorithm->option == "servers" ? "fluid, or fewer workers or servers" : "fluid, or fewer workers");
}

// At some 40 ns a message, this many take a quarter of an hour.
void require_bearable(const Scenario& scenario, const Carrier& carrier, const Fabric& fabric) {
  constexpr std::int64_t most_messages = 20'000'000'000;
  if (carrier.fidelity == "message" && fabric.messages(planned_call(scenario)) > most_messages)
    throw InputError(
        scenario.fidelity.empty() ? scenario.cluster.network.place / "fidelity" : scenario.place_of_fidelity,
        fmt::format("one {} among {} workers sends {:.2g} messages", carrier.algorithm->name, scenario.workers,
                    static_cast<double>(fabric.messages(planned_call(scenario)))),
        "fluid, or fewer workers");
}

// Who chose the collective: the user, the codec, or the cluster.
Place place_of_collective(const Scenario& scenario) {
  if (!scenario.collective.empty()) return scenario.place_of_collective;
  if (scenario.codec && !scenario.codec->codec->collective.empty()) return scenario.place_of_codec;
  return scenario.cluster.network.place / "collective";
}

// How many workers lie together on the topology: in a node, or as it groups them itself.
std::int64_t group_size_on(const Network& network, std::int64_t workers) {
  if (network.node) return network.node->workers;
  return make_topology(*network.topology, workers)->group_size();
}

// The groups of `hierarchical`: one that holds all, unless they fill several.
std::int64_t groups_of(std::int64_t workers, std::int64_t size) {
  return size > 1 && workers % size == 0 ? workers / size : 1;
}

bool on_rails(const Network& network) {
  return network.topology ? network.topology->kind == TopologyKind::Rail : network.node.has_value();
}

// Among full nodes alone is there a hierarchy. On other topologies it runs as a ring, and says so: caveat().
void require_full_nodes(const Scenario& scenario, const Algorithm& algorithm) {
  if (algorithm.name != "hierarchical" || !on_rails(scenario.cluster.network)) return;
  const std::int64_t size = group_size_on(scenario.cluster.network, scenario.workers);
  if (scenario.workers <= size || scenario.workers % size == 0) return;
  throw InputError(place_of_collective(scenario),
                   fmt::format("hierarchical cannot serve {} workers in nodes of {}: the last holds {}",
                               scenario.workers, size, scenario.workers % size),
                   fmt::format("a multiple of {}, or ring", size));
}

// What a topology makes of a collective against its name.
std::string caveat(const Scenario& scenario, const Carrier& carrier) {
  if (carrier.algorithm->name != "hierarchical") return "";
  const std::int64_t size = group_size_on(scenario.cluster.network, scenario.workers);
  const auto& spec = scenario.cluster.network.topology;
  if (size <= 1 && spec && !spec->placement.packed() && (hosts_of_a_switch(*spec) > 1 || spec->gpus_per_host > 1))
    return "no consecutive workers sit together where they are placed: hierarchical runs as one group, a ring";
  if (size <= 1 || scenario.workers <= size || groups_of(scenario.workers, size) > 1) return "";
  return fmt::format("{} workers do not fill groups of {}: hierarchical runs as one group, a ring", scenario.workers,
                     size);
}

std::string fidelity_of(const Scenario& scenario, const Algorithm& algorithm) {
  const Network& network = scenario.cluster.network;
  const std::string& name = scenario.fidelity.empty() ? network.fidelity : scenario.fidelity;
  const Place place = scenario.fidelity.empty() ? network.place / "fidelity" : scenario.place_of_fidelity;
  if (name == "alpha-beta") return name;
  find_fidelity(name, place);
  if (!algorithm.rounds)
    throw InputError(place, fmt::format("{} is priced as a whole and has no messages for {}", algorithm.name, name),
                     "alpha-beta");
  if (!topology_of(network))
    throw InputError(place,
                     fmt::format("{} needs a topology, and the cluster '{}' has none", name, scenario.cluster.name),
                     "alpha-beta, or add \"topology\" to the network; see docs/topologies.md");
  return name;
}

// What a topology, and nodes, decide for a collective that runs on them.
CollectiveOptions options_on(const Scenario& scenario, const Algorithm& algorithm, std::string_view fidelity) {
  CollectiveOptions options = scenario.options.collective;
  const auto& spec = scenario.cluster.network.topology;
  if (spec && spec->kind == TopologyKind::BCube) options.levels = spec->k;
  // Of nodes without a topology, closed forms know themselves.
  if (algorithm.name == "hierarchical" && (spec || fidelity != "alpha-beta"))
    options.groups = groups_of(scenario.workers, group_size_on(scenario.cluster.network, scenario.workers));
  return options;
}

bool detailed(const Carrier& carrier) { return carrier.fidelity != "alpha-beta"; }

bool asks_for_rates(const Scenario& scenario) {
  return scenario.cluster.interference && scenario.cluster.interference->at;
}

NetworkSetup setup_of(const Scenario& scenario, const Carrier& carrier) {
  const Network& network = scenario.cluster.network;
  NetworkSetup setup;
  setup.fidelity = find_fidelity(carrier.fidelity, {});
  setup.workers = scenario.workers;
  setup.alpha = network.alpha.value_or(0);
  if (const auto& node = network.node) {
    const double outside = setup.alpha, inside = node->alpha.value_or(outside);
    setup.alpha = std::min(inside, outside);
    setup.levels = {node->workers, inside - setup.alpha, outside - setup.alpha};
    setup.rails = node->rails;
  } else if (on_rails(network)) {
    setup.levels.node_workers = network.topology->gpus_per_host;
    setup.rails = network.topology->rails;
  }
  setup.gamma = network.gamma;
  setup.options = carrier.options;
  setup.reuse = scenario.reuse;
  setup.rates = asks_for_rates(scenario);
  setup.calls = {planned_call(scenario)};
  setup.calls.front().algorithm = carrier.algorithm;
  setup.place = place_of_collective(scenario);
  return setup;
}

// Names the collectives that can carry what the scenario sends.
std::string fitting(const Scenario& scenario) {
  if (!scenario.codec) return "an all-reduce, such as ring";
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms())
    if (carries(algorithm, *scenario.codec->codec)) names.push_back(algorithm.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void require_carried(const Scenario& scenario, const Algorithm& algorithm) {
  if (scenario.profile->tensors.empty()) return;
  if (!scenario.codec && algorithm.purpose != Purpose::AllReduce)
    throw InputError(place_of_collective(scenario), fmt::format("{} does not sum gradients", algorithm.name),
                     fitting(scenario));
  if (scenario.codec && !carries(algorithm, *scenario.codec->codec))
    throw InputError(place_of_collective(scenario),
                     fmt::format("{} cannot carry what {} makes", algorithm.name, scenario.codec->codec->name),
                     fitting(scenario));
  // Algorithm 3 pairs the ranks off: it has no meaning among others, not even as a price.
  if (algorithm.purpose == Purpose::Selection && !std::has_single_bit(static_cast<std::uint64_t>(scenario.workers)))
    throw InputError(place_of_collective(scenario),
                     fmt::format("{} cannot serve {} workers", algorithm.name, scenario.workers),
                     "a power of two, or --collective topk-allgather");
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string joined(const std::string& one, const std::string& other) {
  return one.empty() ? other : other.empty() ? one : one + "; " + other;
}

// A codec that saves nothing, as half precision of what is half already.
std::string waste(const Scenario& scenario, const Compression& compression) {
  const Bytes bytes = scenario.profile->bytes(), sent = compression.wire_bytes(bytes);
  if (sent < bytes) return "";
  return fmt::format("{} saves nothing: it makes {} of {} of gradients", scenario.codec->name, format_size(sent),
                     format_size(bytes));
}

// Codec times of another device than the profile's: said, unless the options replace them.
std::string device_caveat(const Scenario& scenario) {
  if (scenario.options.codec.encode && scenario.options.codec.decode) return "";
  const std::string here = lower_case(scenario.profile->device), there = lower_case(scenario.codec->device);
  if (!here.empty() && (here.find(there) != std::string::npos || there.find(here) != std::string::npos)) return "";
  return fmt::format("the times of {} are {} for {}, not for {}; measure them, or give --option encode and decode",
                     scenario.codec->name, scenario.codec->origin, scenario.codec->device,
                     scenario.profile->device.empty() ? "the profile's device" : scenario.profile->device);
}

std::string codec_caveat(const Scenario& scenario, const std::optional<Compression>& compression) {
  return compression ? joined(waste(scenario, *compression), device_caveat(scenario)) : "";
}

std::optional<Compression> compression_of(const Scenario& scenario, const Algorithm& algorithm, double slowdown) {
  if (!scenario.codec || scenario.profile->tensors.empty()) return std::nullopt;
  CodecOptions options = scenario.options.codec;
  if (!options.decode_at && scenario.strategy) options.decode_at = scenario.strategy->decode_at;
  const Tensor& tensor = scenario.profile->tensors.front();
  return Compression(*scenario.codec, options, algorithm.purpose == Purpose::AllGather ? scenario.workers : 1,
                     tensor.bytes / tensor.elements, slowdown);
}

// Legs have channels, and those have closed forms.
void require_servers(const Scenario& scenario, const Carrier& carrier) {
  if (!goes_in_legs(*carrier.algorithm, carrier.options)) return;
  const bool local = carrier.options.local;
  const Place place = scenario.options.place_of(local ? "local" : "server_hosts");
  if (detailed(carrier))
    throw InputError(place, fmt::format("{} knows no {}", carrier.fidelity, local ? "sums inside nodes" : "such hosts"),
                     "the fidelity alpha-beta");
  if (shards_state(scenario))
    throw InputError(place, "a parameter server shares out no state: it holds it", "ring, for example");
  if (scenario.workers > 1)
    server_legs(scenario.cluster.network, *carrier.algorithm, scenario.workers, scenario.cluster.workers,
                carrier.options);
}

void require_interference(const Scenario& scenario, const Carrier& carrier) {
  if (asks_for_rates(scenario) && detailed(carrier) && find_fidelity(carrier.fidelity, {}) == Fidelity::Message)
    throw InputError(scenario.cluster.place / "interference" / "at",
                     "in message a block's bytes move message by message, at no rate of their own",
                     "alpha-beta or fluid, or interference without a rate");
}

}  // namespace

Carrier carrier_of(const Scenario& scenario) {
  const std::string_view coded = scenario.codec ? scenario.codec->codec->collective : "";
  const std::string name = !scenario.collective.empty() ? scenario.collective
                           : !coded.empty()             ? std::string(coded)
                                                        : scenario.cluster.network.collective;
  const Algorithm& algorithm = find_algorithm(name, place_of_collective(scenario));
  std::string fidelity = fidelity_of(scenario, algorithm);
  CollectiveOptions options = options_on(scenario, algorithm, fidelity);
  return {&algorithm, std::move(fidelity), std::move(options)};
}

bool gathers(const Carrier& carrier) { return carrier.algorithm->purpose == Purpose::AllGather; }

std::vector<std::string_view> options_of(const Carrier& carrier) {
  std::vector<std::string_view> names;
  const std::string_view own = detailed(carrier) ? carrier.algorithm->message_option : carrier.algorithm->option;
  if (!own.empty()) names.push_back(own);
  if (goes_in_legs(*carrier.algorithm, carrier.options)) names.insert(names.end(), {"server_hosts", "local"});
  return names;
}

void require_possible(const Scenario& scenario) {
  const Carrier carrier = carrier_of(scenario);
  if (scenario.given && scenario.strategy->split && gathers(carrier))
    throw InputError({scenario.given->file, "/transfers"},
                     fmt::format("{} gathers payloads, and has no reduce-scatters", carrier.algorithm->name),
                     "all-reduces, which stand for the whole collective");
  const Network& network = scenario.cluster.network;
  require_carried(scenario, *carrier.algorithm);
  require_servers(scenario, carrier);
  if (carrier.algorithm->option == "servers" && carrier.options.server_hosts == ServerHosts::Colocated &&
      carrier.options.servers > scenario.workers)
    throw InputError(scenario.options.place_of("servers"),
                     fmt::format("{} servers do not fit on {} workers", carrier.options.servers, scenario.workers),
                     "at most one server a worker");
  require_interference(scenario, carrier);
  if (scenario.options.start == Start::Ranks && carrier.fidelity != "message")
    throw InputError(scenario.options.place_of("start"),
                     fmt::format("{} knows no ranks that could start apart", carrier.fidelity),
                     "fidelity message, or start=together");
  require_bearable(scenario);
  require_bearable_step(scenario);
  require_sharding(scenario);
  if (!detailed(carrier)) {
    require_within_clock(
        scenario, {price(network, *carrier.algorithm, scenario.workers, scenario.cluster.workers, carrier.options),
                   compression_of(scenario, *carrier.algorithm, 1)});
    return;
  }
  make_topology(*topology_of(network), scenario.workers);
  if (scenario.workers <= 1) return;
  require_full_nodes(scenario, *carrier.algorithm);
  const bool split = scenario.strategy && (scenario.strategy->split || shards_state(scenario)) && !gathers(carrier);
  for (const CollectiveOp op : {CollectiveOp::AllReduce, split ? CollectiveOp::AllGather : CollectiveOp::AllReduce}) {
    const Rounds rounds =
        rounds_of(*carrier.algorithm, scenario.workers, carrier.options, op, place_of_collective(scenario));
    if (carrier.fidelity == "message") require_bearable(scenario, carrier, rounds);
  }
}

namespace {

std::vector<ServerLeg> legs_of(const Scenario& scenario, const Carrier& carrier) {
  if (!goes_in_legs(*carrier.algorithm, carrier.options) || scenario.workers == 1) return {};
  return server_legs(scenario.cluster.network, *carrier.algorithm, scenario.workers, scenario.cluster.workers,
                     carrier.options);
}

// Those of everybody, and, where the state is shared out, of the shard groups: all that plans of the scenario can make.
std::vector<Call> calls_of(const Scenario& scenario, const Carrier& carrier) {
  std::vector<Call> calls;
  for (const NamedGroup& one : data_parallel_groups(scenario.options.strategy.step)) {
    if (!calls.empty() && !shards_state(scenario)) break;
    const Group group = one.group.of(scenario.workers);
    for (const CollectiveOp op : {CollectiveOp::AllReduce, CollectiveOp::ReduceScatter, CollectiveOp::AllGather})
      if (const Call call(op, group, carrier.algorithm); std::find(calls.begin(), calls.end(), call) == calls.end())
        calls.push_back(call);
  }
  return calls;
}

ChannelCost price_of(const Call& call, const Scenario& scenario, const Carrier& carrier) {
  if (call.group.ranks == 1) return {CommCost(0, 0), Channels{0}};
  const GroupCosts priced = price_group(scenario.cluster.network, *call.algorithm, call.group, scenario.workers,
                                        scenario.cluster.workers, carrier.options);
  return {priced.costs[call.op], priced.channels};
}

std::shared_ptr<const Fabric> launched(std::shared_ptr<const Fabric> fabric, Time launch, Legs legs = {}) {
  if (launch == Time(0) && legs.empty()) return fabric;
  return std::make_shared<LaunchedFabric>(std::move(fabric), launch, std::move(legs));
}

// On channels of closed forms. What goes in legs goes all the way there, and back.
std::shared_ptr<const Fabric> on_channels(const Scenario& scenario, const Carrier& carrier) {
  std::vector<Call> calls = calls_of(scenario, carrier);
  ChannelCosts costs;
  for (const Call& call : calls) costs.push_back(price_of(call, scenario, carrier));
  const std::vector<ServerLeg> server_legs = legs_of(scenario, carrier);
  Legs legs(server_legs.empty() ? 0 : calls.size());
  for (const ServerLeg& leg : server_legs) {
    for (CallId id = 0; id < legs.size(); ++id)
      if (calls[id].op == CollectiveOp::AllReduce || calls[id].op == leg.call.op)
        legs[id].push_back(static_cast<CallId>(calls.size()));
    calls.push_back(leg.call);
    costs.push_back({leg.cost, leg.channels});
  }
  return launched(std::make_shared<AlphaBetaFabric>(std::move(calls), scenario.workers, std::move(costs),
                                                    scenario.options.sharing, asks_for_rates(scenario)),
                  scenario.options.launch, std::move(legs));
}

}  // namespace

Communication communication_of(const Scenario& scenario) {
  require_possible(scenario);
  const Carrier carrier = carrier_of(scenario);
  const Network& network = scenario.cluster.network;
  const auto compression = compression_of(scenario, *carrier.algorithm, 1);
  const Time launch = scenario.options.launch;
  if (!detailed(carrier)) {
    return {.carrier = carrier,
            .fabric = on_channels(scenario, carrier),
            .compression = compression,
            .warning = joined(implausible(network, *carrier.algorithm, scenario.workers, carrier.options),
                              codec_caveat(scenario, compression))};
  }
  const std::shared_ptr<const Topology> topology = make_topology(*topology_of(network), scenario.workers);
  const NetworkSetup setup = setup_of(scenario, carrier);
  const auto rounds = lay_on(setup, *topology);
  const auto fabric = launched(rounds, launch);
  require_within_clock(scenario, {fabric->price(planned_call(scenario)), compression});
  require_bearable(scenario, carrier, *fabric);
  return {.carrier = carrier,
          .fabric = fabric,
          .compression = compression,
          .warning = joined(caveat(scenario, carrier), codec_caveat(scenario, compression)),
          .launch = launch,
          .setup = setup,
          .topology = topology,
          .rounds = rounds};
}

BlockCost price_of_blocks(const Scenario& scenario, const Communication& communication) {
  return {communication.fabric->price(planned_call(scenario)),
          compression_of(scenario, *communication.carrier.algorithm, slowest_factor(scenario))};
}

Communication prepared_for(const Plan& plan, Communication communication) {
  if (!communication.detailed()) return communication;
  std::vector<Call>& calls = communication.setup.calls;
  const std::size_t known = calls.size();
  for (Call& call : calls_of(plan))
    if (!communication.fabric->offers(call)) {
      call.algorithm = communication.carrier.algorithm;
      calls.push_back(std::move(call));
    }
  if (calls.size() > known) {
    communication.rounds = lay_on(communication.setup, *communication.topology);
    communication.fabric = launched(communication.rounds, communication.launch);
  }
  return communication;
}

Time least_time(const Fabric& fabric, const Plan& plan, Bytes bytes) {
  const bool several = plan.lanes.size() > 1 || plan.lanes.front().window.count > 1;
  if (!uses_halves(plan)) return fabric.least(bytes, CollectiveOp::AllReduce, several);
  const Time halves =
      add(fabric.least(bytes, CollectiveOp::ReduceScatter, several), fabric.least_behind(bytes, CollectiveOp::AllGather, several));
  const bool mixed = std::any_of(plan.transfers.begin(), plan.transfers.end(),
                                 [](const Transfer& transfer) { return transfer.op == CollectiveOp::AllReduce; });
  return mixed ? std::min(halves, fabric.least(bytes, CollectiveOp::AllReduce, several)) : halves;
}

}  // namespace allreplay
