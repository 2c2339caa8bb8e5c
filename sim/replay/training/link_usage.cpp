#include "sim/replay/training/link_usage.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "sim/replay/network/link_load.hpp"
#include "sim/replay/network/rounds_fabric.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/replay/training/sharding.hpp"

namespace allreplay {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void require_links(const Job& job, const SourceLocation& place) {
  if (!job.choice.detailed())
    throw InputError(place, "alpha-beta has no links",
                     "--fidelity fluid or message, on a cluster with a topology; see docs/topologies.md");
}

// Sets kinds and kind_of. Both directions of a link have the same kind, named by its first direction.
void name_kinds(LinkUsage& usage) {
  const Topology& topology = *usage.topology;
  std::vector<std::string> of_node;
  const std::int64_t ends = topology.nodes() + topology.machines() * topology.nics();  // NICs follow the nodes
  for (NodeId node = 0; node < ends; ++node) of_node.push_back(node_kind(topology.name(node)));
  std::map<std::string, std::uint32_t> known;
  for (LinkId link = 0; link < topology.links().size(); ++link) {
    const LinkId there = link & ~LinkId{1};
    const std::string name = fmt::format("{} - {}", of_node[topology.port(there)], of_node[topology.port(there ^ 1U)]);
    const auto [found, fresh] = known.emplace(name, static_cast<std::uint32_t>(usage.kinds.size()));
    if (fresh) usage.kinds.push_back(name);
    usage.kind_of.push_back(found->second);
  }
}

RoundsFabric::Sent send(LinkUsage& usage, const Job& job, CallId call, double bytes, double times = 1) {
  const RoundsFabric::Sent what = job.rounds->sent(call, bytes);
  if (usage.sent.size() <= what.rounds) usage.sent.resize(what.rounds + 1);
  LinkUsage::Sent& sent = usage.sent[what.rounds];
  if (sent.loads.empty()) {
    sent.rounds = job.rounds->rounds_laid(what.rounds, usage.topology->group_size());
    sent.loads = link_loads(sent.rounds, *usage.topology);
  }
  sent.bytes += times * what.bytes;
  return what;
}

// Adds the calls inside the layers of every pipeline rank. The fabric has only those of the first rank, since the price
// is the same for all, but each rank uses other links.
Job laid_for(Job job, const std::vector<LayerSend>& inside) {
  std::vector<Call>& calls = job.setup.calls;
  const std::size_t known = calls.size();
  for (const auto& [call, bytes] : inside)
    if (std::find(calls.begin(), calls.end(), call) == calls.end()) calls.push_back(call);
  if (calls.size() > known) job.rounds = laid(job);
  return job;
}

}  // namespace

double LinkUsage::bytes(LinkId link) const {
  double sum = 0;
  for (const Sent& one : sent)
    if (!one.loads.empty()) sum += one.bytes * one.loads[link];
  return sum;
}

double LinkUsage::utilisation(LinkId link) const {
  const double bandwidth = topology->links()[link].bandwidth;
  return bandwidth > 0 && seconds > 0 ? bytes(link) / (bandwidth * seconds) : 0;
}

std::string LinkUsage::name(LinkId link) const {
  return fmt::format("{} -> {}", topology->name(topology->port(link)), topology->name(topology->port(link ^ 1U)));
}

std::vector<KindUse> use_by_kind(const LinkUsage& usage) {
  std::vector<KindUse> kinds(usage.kinds.size());
  const auto links = usage.topology->links();
  for (LinkId link = 0; link < links.size(); ++link) {
    KindUse& kind = kinds[usage.kind_of[link]];
    const double used = usage.utilisation(link), bandwidth = links[link].bandwidth;
    kind.links += link % 2 == 0;
    kind.down += link % 2 == 0 && bandwidth == 0;
    if (bandwidth > 0) kind.slowest = kind.fastest == 0 ? bandwidth : std::min(kind.slowest, bandwidth);
    kind.fastest = std::max(kind.fastest, bandwidth);
    kind.mean += used;
    if (used > kind.busiest) kind.busiest = used, kind.bytes = usage.bytes(link);
  }
  for (KindUse& kind : kinds) kind.mean /= static_cast<double>(2 * kind.links);
  return kinds;
}

LinkUsage no_usage(std::shared_ptr<const Topology> topology) {
  LinkUsage usage;
  usage.topology = std::move(topology);
  name_kinds(usage);
  return usage;
}

LinkUsage link_usage(const Scenario& scenario, const Result& result, const SourceLocation& place) {
  Job job = prepared_for(result.plan, job_of(scenario));
  require_links(job, place);
  std::vector<LayerSend> inside;
  if (scenario.options.parallel.any()) inside = sends_of_layers(scenario, job.choice);
  job = laid_for(std::move(job), inside);
  LinkUsage usage = no_usage(job.topology);
  usage.seconds = result.metrics.iteration_s;
  for (std::size_t i = 0; i < result.unrolled.transfers; ++i) {
    const Task& task = result.unrolled.graph.tasks()[result.unrolled.transfer(i)];
    usage.of_transfer.push_back(send(usage, job, task.call_id, task.bytes));
  }
  const auto batches = static_cast<double>(result.plan.sharding.accumulate);
  for (const auto& [call, bytes] : inside)
    send(usage, job, job.rounds->id_of(call), static_cast<double>(bytes), batches);
  return usage;
}

LinkUsage link_usage(const Scenario& scenario, Bytes bytes, double seconds, const SourceLocation& place) {
  const Job job = job_of(scenario);
  require_links(job, place);
  LinkUsage usage = no_usage(job.topology);
  usage.seconds = seconds;
  send(usage, job, job.rounds->id_of(planned_call(scenario)), static_cast<double>(bytes));
  return usage;
}

std::vector<HotLink> hottest(const LinkUsage& usage, std::size_t most) {
  std::vector<LinkId> order(usage.topology->links().size());
  std::iota(order.begin(), order.end(), LinkId{0});
  std::vector<double> used;
  for (const LinkId link : order) used.push_back(usage.utilisation(link));
  std::erase_if(order, [&](LinkId link) { return used[link] == 0; });
  most = std::min(most, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                    [&](LinkId a, LinkId b) { return used[a] != used[b] ? used[a] > used[b] : a < b; });
  order.resize(most);
  std::vector<LinkUsers> users(most);
  for (const LinkUsage::Sent& sent : usage.sent) {
    if (sent.loads.empty()) continue;
    const std::vector<LinkUsers> own = link_users(sent.rounds, *usage.topology, order);
    for (std::size_t i = 0; i < most; ++i)
      for (const auto& [pair, per_byte] : own[i]) users[i][pair] += sent.bytes * per_byte;
  }
  std::vector<HotLink> hot;
  for (std::size_t i = 0; i < most; ++i) {
    hot.push_back({order[i], {}});
    for (const auto& [pair, bytes] : users[i]) hot.back().users.push_back({pair.first, pair.second, bytes});
    std::stable_sort(hot.back().users.begin(), hot.back().users.end(),
                     [](const LinkUser& a, const LinkUser& b) { return a.bytes > b.bytes; });
  }
  return hot;
}

std::string node_kind(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot != std::string::npos && dot + 2 < name.size() && name[dot + 1] == 'p' &&
      std::all_of(name.begin() + static_cast<std::ptrdiff_t>(dot) + 2, name.end(), is_digit))
    return node_kind(name.substr(0, dot));
  const std::string last = dot == std::string::npos ? name : name.substr(dot + 1);
  if (!last.empty() && std::all_of(last.begin(), last.end(), is_digit))
    return dot == std::string::npos ? name : name.substr(0, dot);
  const std::size_t end = last.find_last_not_of("0123456789");
  return last.substr(0, end + 1);
}

}  // namespace allreplay
