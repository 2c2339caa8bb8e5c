#include "sim/studies/jobs/seated_job.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/inputs/cluster/placement.hpp"
#include "sim/studies/search/plan_of.hpp"

namespace allreplay {

namespace {

// Returns all seats in the order of `spread`; by number if the topology has nothing to spread over.
std::vector<NodeId> spread_order(TopologySpec spec, std::int64_t seats) {
  if (hosts_of_a_switch(spec) > 0 || spec.gpus_per_host > 1) spec.placement.kind = Placement::Kind::Spread;
  const auto topology = make_topology(spec, seats);
  std::vector<NodeId> order;
  for (NodeId rank = 0; rank < topology->hosts(); ++rank) order.push_back(topology->seat(rank));
  return order;
}

// Returns all nodes in the order of `spread`, which deals whole hosts from switch to switch. Empty if nodes are not
// hosts of the topology, or every host is connected to every switch.
std::vector<NodeId> spread_nodes(const TopologySpec& spec, const Network& network, std::int64_t seats) {
  const bool are_hosts = !network.node || network.node->workers == spec.gpus_per_host;
  if (spec.kind == TopologyKind::Rail || !are_hosts) return {};
  std::vector<NodeId> order(static_cast<std::size_t>(seats));
  std::iota(order.begin(), order.end(), NodeId{0});
  if (hosts_of_a_switch(spec) > 0) order = spread_order(spec, seats);
  const auto gpus = static_cast<std::size_t>(spec.gpus_per_host);
  std::vector<NodeId> nodes;
  for (std::size_t rank = 0; rank < order.size(); rank += gpus)
    nodes.push_back(order[rank] / static_cast<NodeId>(gpus));
  return nodes;
}

// Sets each worker's slowdown: the product of its own factor and that of its seat.
void set_slowdowns(Scenario& scenario, const JobEntry& entry, const JobsCluster& cluster,
                   std::span<const NodeId> seats) {
  std::map<std::int64_t, double> rank_workers, of_seat;
  for (const Slowdown& slow : entry.stragglers.slow) rank_workers[slow.worker] = slow.factor;
  for (const Slowdown& slow : cluster.stragglers.slow) of_seat[slow.worker] = slow.factor;
  const auto& spread = cluster.stragglers.spread;
  const bool by_seat =
      spread && spread->seed && !scenario.options.parallel.pipeline();  // pipelines do not support seeds
  scenario.stragglers = {};
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    double factor = 1;
    if (const auto own = rank_workers.find(static_cast<std::int64_t>(rank)); own != rank_workers.end())
      factor *= own->second;
    if (const auto own = of_seat.find(seats[rank]); own != of_seat.end()) factor *= own->second;
    if (by_seat) factor *= spread->of(seats[rank]);
    if (factor != 1) scenario.stragglers.slow.push_back({static_cast<std::int64_t>(rank), factor});
  }
  if (!by_seat) scenario.stragglers.spread = spread;
  scenario.stragglers.jitter = entry.stragglers.jitter ? entry.stragglers.jitter : cluster.stragglers.jitter;
}

void require_supported(const Scenario& scenario, const JobEntry& entry) {
  if (scenario.options.start == Start::Ranks)
    throw InputError(entry.place / "strategy", "start=ranks is not supported for jobs", "start=together");
  if (scenario.strategy && scenario.strategy->local_steps)
    throw InputError(entry.place / "strategy", "rounds of local steps are not supported for jobs",
                     "a strategy that reduces gradients in every step");
  if (!scenario.options.parallel.any()) return;
  const auto refuse = [](const SourceLocation& place, const std::string& what) {
    throw InputError(place, fmt::format("{} does not support pp, tp, cp or ep above 1", what),
                     "one micro-batch for all workers");
  };
  if (entry.batch) refuse(entry.place / "batch", "batch");
  if (entry.balance == Balance::Speed) refuse(entry.place / "balance", "balance=speed");
  for (const WorkerKind& kind : entry.kinds)
    if (kind.batch) refuse(kind.place / "batch", "a class's own batch");
}

// The key of a class of workers: they have the same role, kind, batch size, slowdown and events.
struct ClassKey {
  std::uint32_t role = 0;
  std::size_t kind = 0;
  std::int64_t batch = 0;
  double slowdown = 1;
  std::vector<std::size_t> events;
  std::int64_t own_rank = 0;  // with jitter the rank, so that every worker is a class
  auto operator<=>(const ClassKey&) const = default;
};

// Returns, by rank, the indices of the events that slow its computation.
std::vector<std::vector<std::size_t>> events_of(const JobsFile& file, const JobsCluster& cluster,
                                                const SeatedJob& job) {
  std::vector<std::vector<std::size_t>> events(job.seats.size());
  std::map<std::string, std::vector<std::size_t>> of_machine;
  for (std::size_t i = 0; i < file.events.size(); ++i) {
    const ClusterEvent& event = file.events[i];
    if (!event.slowdown) continue;
    if (event.node)
      of_machine[event.node->name].push_back(i);
    else if (event.worker->first.name == job.name && event.worker->second < std::ssize(events))
      events[static_cast<std::size_t>(event.worker->second)].push_back(i);
  }
  if (of_machine.empty()) return events;
  const Topology& network = *cluster.seating.network;
  for (std::size_t rank = 0; rank < events.size(); ++rank) {
    const std::int64_t machine = job.seats[rank] / network.gpus_per_host();
    const auto found = of_machine.find(network.name(network.machine_node(machine)));
    if (found == of_machine.end()) continue;
    std::vector<std::size_t> all;
    std::merge(events[rank].begin(), events[rank].end(), found->second.begin(), found->second.end(),
               std::back_inserter(all));
    events[rank] = std::move(all);
  }
  return events;
}

// Adds the time of the collectives inside layers, which the job's own profile determines.
Profile with_collectives(Profile profile, const ParallelSetup& setup) {
  const std::vector<Time> weights = profile.weight_times();
  for (LayerId l = 0; l < profile.layers.size(); ++l) {
    Layer& layer = profile.layers[l];
    const Layer &with = setup.profile.layers[l], &without = setup.layers_alone->layers[l];
    layer.forward = add(layer.forward, with.forward - without.forward);
    layer.backward = add(layer.backward, with.backward - without.backward);
    layer.backward_weight = weights[l];
  }
  return profile;
}

// Returns the number of forward and backward passes of layers. Each class of workers has its own tasks, about 700 bytes
// per pass; a rank of a pipeline has its share of the layers.
std::int64_t passes_of(const SeatedJob& seated) {
  const Scenario& scenario = seated.job.scenario;
  return 2 * static_cast<std::int64_t>(seated.classes.size() * scenario.profile->layers.size()) *
         seated.plan.sharding.accumulate / scenario.options.parallel.pp;
}

void require_bearable(std::int64_t passes, const JobsFile& file, const SourceLocation& place) {
  if (passes > file.limits.passes)
    throw InputError(place, fmt::format("the jobs up to here have more than {} passes of layers", file.limits.passes),
                     "more identical workers, or fewer layers, micro-batches or jobs");
}

void set_classes(SeatedJob& seated, const JobsFile& file, const JobsCluster& cluster, const JobEntry& entry,
                 std::span<const WorkerKind> kinds, const std::vector<Shared<Profile>>& profiles) {
  const Scenario& scenario = seated.job.scenario;
  const std::vector<double> factors = slowdowns(scenario.stragglers, scenario.workers, scenario.options.parallel.pp);
  std::vector<std::uint32_t> roles(factors.size(), 0);
  for (std::uint32_t role = 0; role < seated.plan.roles.size(); ++role)
    for (const std::int64_t worker : seated.plan.roles[role].workers) roles[static_cast<std::size_t>(worker)] = role;
  const std::vector<std::vector<std::size_t>> events = events_of(file, cluster, seated);
  std::map<ClassKey, std::size_t> known;
  std::map<std::pair<std::size_t, std::int64_t>, std::shared_ptr<const Profile>> scaled_profiles;
  std::int64_t rank = 0;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind)
    for (std::int64_t i = 0; i < kinds[kind].workers; ++i, ++rank) {
      const auto worker = static_cast<std::size_t>(rank);
      ClassKey key{.role = roles[worker],
                   .kind = kind,
                   .batch = seated.batches.empty() ? 0 : seated.batches[worker],
                   .slowdown = factors[worker],
                   .events = events[worker],
                   .own_rank = scenario.stragglers.jitter ? rank : 0};
      const auto [place, fresh] = known.emplace(key, seated.classes.size());
      if (fresh) {
        auto& profile = scaled_profiles[{kind, key.batch}];
        const bool fresh_profile = !profile;
        if (!profile && key.batch > 0)
          profile = std::make_shared<const Profile>(with_batch(profiles[kind], key.batch));
        else if (!profile && !kinds[kind].profile.empty())
          profile = std::make_shared<const Profile>(*profiles[kind]);
        if (profile && fresh_profile)
          profile = std::make_shared<const Profile>(
              with_host_floors(seated.job.parallel ? with_collectives(*profile, *seated.job.parallel) : *profile));
        seated.classes.push_back({key.slowdown, {}, key.role, profile});
        require_bearable(passes_of(seated), file, entry.place);
        seated.events.push_back(key.events);
      }
      seated.classes[place->second].workers.push_back(rank);
    }
}

// Returns the computation time of the slowest class in an iteration, without slowdowns.
Time computing_of(const SeatedJob& seated) {
  Time longest{0};
  for (const WorkerClass& one : seated.classes) {
    const Unrolled unrolled = unroll_job(seated.job, seated.plan, {WorkerClass{1, {0}, one.role, one.profile}});
    Time sum{0};
    for (TaskId id = 0; id < unrolled.labels.size(); ++id) {
      const Label& label = unrolled.labels[id];
      if (is_on_stream(label.kind) && !is_copy(label.kind) && !(is_codec(label.kind) && unrolled.separate_codec))
        sum = add(sum, unrolled.nominal[id] - inside_layers(seated.job, label));
    }
    longest = std::max(longest, sum);
  }
  return longest;
}

std::optional<double> samples_of(const SeatedJob& seated) {
  const Scenario& scenario = seated.job.scenario;
  const auto batches = static_cast<double>(seated.plan.sharding.accumulate);
  double sum = 0;
  for (const WorkerClass& one : seated.classes) {
    const Profile& profile = one.profile ? *one.profile : *scenario.profile;
    if (!profile.batch_size) return std::nullopt;
    sum += batches * static_cast<double>(*profile.batch_size) * static_cast<double>(one.workers.size());
  }
  if (const auto& parallel = seated.job.parallel)  // workers of one replica share a batch
    return sum / static_cast<double>(scenario.workers / parallel->degrees.dp);
  return sum;
}

}  // namespace

JobsCluster jobs_cluster(Library& library, const Files& files, const JobsFile& file) {
  const Json json = file.inline_cluster ? *file.inline_cluster
                                        : Json::read(files, files.find_data("topologies", file.cluster, "cluster"));
  library.add_cluster(shared_cluster, json);
  JobsCluster all;
  Scenario changed;
  changed.cluster = library.cluster_named(shared_cluster);
  apply_changes(changed, file.changes, Changed::Network);
  all.cluster = std::move(changed.cluster);
  const Network& network = all.cluster.network;
  const std::string& fidelity = file.fidelity.empty() ? network.fidelity : file.fidelity.value;
  const SourceLocation place = file.fidelity.empty() ? network.place / "fidelity" : file.fidelity.place;
  all.fidelity = fidelity.empty() ? Fidelity::Fluid : find_fidelity(fidelity, place);
  if (all.fidelity == Fidelity::AlphaBeta)
    throw InputError(place, "alpha-beta has no links that jobs could share", "fluid or message");
  const auto spec = topology_of(network);
  if (!spec)
    throw InputError(network.place, "has no topology, whose links jobs share", "\"topology\"; see docs/topologies.md");
  if (!spec->placement.packed())
    throw InputError(spec->placement.place, "the cluster has a placement, but each job has its own",
                     "\"placement\" in the jobs");
  all.seating.network = make_topology(*spec, std::max<std::int64_t>(all.cluster.workers, 1));
  if (all.cluster.workers == 0) {
    const TopologyKind kind = spec->kind;
    if (kind == TopologyKind::Star || kind == TopologyKind::Ring || kind == TopologyKind::DoubleBinaryTree ||
        kind == TopologyKind::Rail)
      throw InputError(all.cluster.place / "workers", "is missing: it is the number of seats", "a number");
    all.cluster.workers = all.seating.network->hosts();
  }
  all.seating.seats = all.cluster.workers;
  all.seating.whole_nodes = network.node.has_value() || spec->kind == TopologyKind::Rail || spec->nics;
  all.seating.spread = all.seating.whole_nodes ? spread_nodes(*spec, network, all.cluster.workers)
                                               : spread_order(*spec, all.cluster.workers);
  Request shared;
  shared.cluster = shared_cluster;
  changed.workers = all.cluster.workers;
  library.set_stragglers(changed, shared);
  all.stragglers = std::move(changed.stragglers);
  return all;
}

Scenario scenario_of(Library& library, const JobsCluster& cluster, const JobEntry& entry,
                     std::span<const NodeId> seats) {
  Request request = entry.request;
  request.cluster = shared_cluster;
  if (request.fidelity.empty()) request.fidelity = to_string(cluster.fidelity);
  Scenario scenario = library.resolve(request);
  scenario.laid_on = seated(cluster.seating.network, seats);
  scenario.cluster.workers = cluster.cluster.workers;
  set_slowdowns(scenario, entry, cluster, seats);
  require_supported(scenario, entry);
  return scenario;
}

SeatedJob seated_job(Library& library, const JobsFile& file, const JobsCluster& cluster, const JobEntry& entry,
                     std::vector<NodeId> seats) {
  SeatedJob seated{.name = entry.name, .seats = std::move(seats), .start = entry.start, .iterations = entry.iterations};
  for (NodeId rank = 0; rank < seated.seats.size(); ++rank)
    seated.hosts.push_back(cluster.seating.network->name(seated.seats[rank]));

  Scenario scenario = scenario_of(library, cluster, entry, seated.seats);
  const std::vector<WorkerKind> kinds = kinds_of(entry);
  std::vector<Shared<Profile>> profiles;
  for (const WorkerKind& kind : kinds) {
    if (kind.profile.empty()) {
      profiles.push_back(scenario.profile);
      continue;
    }
    Request other = entry.request;
    other.cluster = shared_cluster;
    other.profile = {kind.profile, kind.place};
    profiles.push_back(library.resolve(other).profile);
    require_same_model(scenario.profile, profiles.back(), kind.place);
  }
  seated.batches = batches_of(entry, scenario.profile, profiles);

  Job job = job_of(std::move(scenario));
  seated.plan = plan_of(job);
  if (job.scenario.profile->host.step > Time(0)) seated.plan = with_host_step(std::move(seated.plan));
  if (!seated.plan.pipeline) seated.plan = from_first_micro_batch(std::move(seated.plan));
  seated.job = prepared_for(seated.plan, std::move(job));
  set_classes(seated, file, cluster, entry, kinds, profiles);
  seated.computing = computing_of(seated);
  seated.samples = samples_of(seated);
  return seated;
}

std::vector<SeatedJob> seated_jobs(Library& library, const JobsFile& file, const JobsCluster& cluster,
                                   std::span<const SeatChoice> choices) {
  auto seats = seat_jobs(cluster.seating, file.jobs, choices);
  std::vector<SeatedJob> all;
  std::int64_t passes = 0;
  for (std::size_t number = 0; number < file.jobs.size(); ++number) {
    all.push_back(seated_job(library, file, cluster, file.jobs[number], std::move(seats[number])));
    passes += passes_of(all.back());
    require_bearable(passes, file, file.jobs[number].place);
  }
  return all;
}

}  // namespace allreplay
