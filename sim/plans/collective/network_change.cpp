#include "sim/plans/collective/network_change.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/plans/collective/algorithm.hpp"
#include "sim/plans/collective/comm_cost.hpp"
#include "sim/plans/collective/two_level.hpp"

namespace allreplay {

namespace {

// The time per byte after a change of the bandwidth.
double time_per_byte(double now, const Adjustment& change) {
  return change.factor ? now / *change.factor : 1 / change.value;
}

// The coefficients of the measured collective.
Coefficients times_of(const MeasuredCost& measured) {
  link_costs(measured, {}, measured.place / "gamma");  // throws if it has none
  return find_algorithm(measured.collective, {}).coefficients(static_cast<double>(measured.workers), {});
}

void change_b(MeasuredCost& measured, const Adjustment& change) {
  const Coefficients times = times_of(measured);
  const double reduction = times.gamma * measured.gamma, sending = measured.b - reduction;
  measured.b = reduction + (change.factor ? sending / *change.factor : times.beta / change.value);
}

void change_a(MeasuredCost& measured, const Adjustment& change) {
  measured.a = change.factor ? *change.factor * measured.a : times_of(measured).alpha * change.value;
}

[[noreturn]] void refuse_table(const SourceLocation& place, std::string_view what) {
  throw InputError(place, fmt::format("a measured table has no {} of a link", what), "a factor, such as x2");
}

// Applies `change` to every table of the network.
template <class Change>
void for_each_table(Network& network, const Change& change) {
  if (!network.table.empty()) change(network.table);
  for (WorkersTable& one : network.tables) change(one.table);
}

bool has_tables(const Network& network) { return !network.table.empty() || !network.tables.empty(); }

void scale_links(TopologySpec& spec, double factor, double LinkSpec::*part,
                 std::optional<double> LinkChange::*changed) {
  spec.link.*part *= factor;
  for (GraphLink& one : spec.graph_links) one.link.*part *= factor;
  for (LinkChange& one : spec.changes)
    if (one.*changed) one.*changed = *(one.*changed) * factor;
}

// The bandwidth of the topology's links. Throws InputError if they differ: one value cannot replace them.
double link_bandwidth(const TopologySpec& spec, const SourceLocation& place) {
  if (spec.kind != TopologyKind::Graph) return spec.link.bandwidth;
  for (const GraphLink& one : spec.graph_links)
    if (one.link.bandwidth != spec.graph_links.front().link.bandwidth)
      throw InputError(place, "the topology's links differ", "a factor, such as x2");
  return spec.graph_links.empty() ? 1 : spec.graph_links.front().link.bandwidth;
}

bool has_gpus(const Network& network) { return network.topology && network.topology->gpus_per_host > 1; }

[[noreturn]] void refuse_one_level(const Network& network, const SourceLocation& place) {
  const bool whole = network.node.has_value();
  throw InputError(place,
                   whole ? "the cluster's times were measured as a whole, inside and between nodes"
                         : "the cluster's network has one level",
                   whole ? "the level between nodes" : R"(a cluster with "node", or with "gpus_per_host")");
}

void change_inner_bandwidth(Network& network, const Adjustment& change, const SourceLocation& place) {
  const bool node = network.node && network.node->beta;
  if (!node && !has_gpus(network)) refuse_one_level(network, place);
  if (node) network.node->beta = time_per_byte(*network.node->beta, change);
  if (has_gpus(network)) network.topology->inner.bandwidth = change(network.topology->inner.bandwidth);
}

// True if a factor applies to NCCL's start-ups: for its own collectives, and for all messages without an alpha.
bool starts_up_as_nccl(const Network& network, bool without_alpha, const Adjustment& change) {
  return without_alpha && network.nccl && change.factor;
}

void change_inner_latency(Network& network, const Adjustment& change, bool nccl, const SourceLocation& place) {
  const bool node = network.node && network.node->alpha;
  if (!node && !has_gpus(network)) refuse_one_level(network, place);
  if (starts_up_as_nccl(network, nccl || !(network.node && network.node->alpha > 0.0), change))
    network.nccl->node.latency *= *change.factor;
  else if (node)
    network.node->alpha = change(*network.node->alpha);
  if (has_gpus(network)) network.topology->inner.latency = change(network.topology->inner.latency);
}

// The links of parameter servers change with those of the network, in proportion.
void change_server_bandwidth(Network& network, const Adjustment& change) {
  if (!network.server || !network.server->beta) return;
  double& beta = *network.server->beta;
  beta = change.factor || !(network.beta > 0.0) ? time_per_byte(beta, change) : beta / *network.beta / change.value;
}

void change_nccl_latency(NcclSetup& nccl, double factor) {
  nccl.network.latency *= factor;
  if (nccl.rendezvous) nccl.rendezvous->time *= factor;
}

void change_alpha(Network& network, const Adjustment& change) {
  const double now = network.alpha.value_or(0), then = change(now);
  if (network.server && network.server->alpha) {
    double& alpha = *network.server->alpha;
    alpha = change.factor || now <= 0 ? change(alpha) : alpha * then / now;
  }
  for (ValueOfNodes& one : network.alpha_of_nodes) one.value = change(one.value);
  network.alpha = then;
}

void require_priced_by_links(const Network& network, const SourceLocation& place) {
  if (network.measured || has_tables(network))
    throw InputError(place, "the cluster's times were measured on its own nodes", "a cluster with alpha and bandwidth");
}

}  // namespace

void change_bandwidth(Network& network, Level level, const Adjustment& change, const SourceLocation& place) {
  if (level == Level::Inside) return change_inner_bandwidth(network, change, place);
  change_server_bandwidth(network, change);
  if (network.beta) network.beta = time_per_byte(*network.beta, change);
  for (ValueOfNodes& one : network.beta_of_nodes) one.value = time_per_byte(one.value, change);
  if (network.topology) {
    const double now = change.factor ? 1 : link_bandwidth(*network.topology, place);
    scale_links(*network.topology, change(now) / now, &LinkSpec::bandwidth, &LinkChange::bandwidth);
  }
  if (network.measured) change_b(*network.measured, change);
  if (has_tables(network) && !change.factor && !network.line_rate) refuse_table(place, "bandwidth");
  for_each_table(network, [&](std::vector<CostPoint>& table) {
    const double factor = change.factor ? *change.factor : change.value / *network.line_rate;
    for (CostPoint& point : table)
      point.seconds = table.front().seconds + (point.seconds - table.front().seconds) / factor;
  });
  if (network.line_rate) network.line_rate = change(*network.line_rate);
}

void change_latency(Network& network, Level level, const Adjustment& change, bool nccl, const SourceLocation& place) {
  if (level == Level::Inside) return change_inner_latency(network, change, nccl, place);
  if (starts_up_as_nccl(network, nccl || !(network.alpha > 0.0), change))
    change_nccl_latency(*network.nccl, *change.factor);
  else if (network.alpha || network.topology)
    change_alpha(network, change);
  if (network.topology && change.factor)
    scale_links(*network.topology, *change.factor, &LinkSpec::latency, &LinkChange::latency);
  if (network.measured) change_a(*network.measured, change);
  if (has_tables(network) && !change.factor) refuse_table(place, "start-up");
  for_each_table(network, [&](std::vector<CostPoint>& table) {
    const double less = (1 - *change.factor) * table.front().seconds;
    for (CostPoint& point : table) point.seconds = std::max(point.seconds - less, 1e-12);
  });
}

void change_node(Network& network, std::int64_t workers, const SourceLocation& place) {
  require_priced_by_links(network, place);
  if (!network.node && !has_gpus(network)) refuse_one_level(network, place);
  if (network.node && network.node->rails > workers)
    throw InputError(place, fmt::format("{} workers share {} network ports", workers, network.node->rails),
                     fmt::format("at least {}, or change --rails, too", network.node->rails));
  if (has_gpus(network) && network.topology->nics && *network.topology->nics > workers)
    throw InputError(place, fmt::format("{} workers share {} nics", workers, *network.topology->nics),
                     fmt::format("at least {}, or change --rails, too", *network.topology->nics));
  if (network.node) network.node->workers = workers;
  if (has_gpus(network)) network.topology->gpus_per_host = workers;
}

void change_rails(Network& network, std::int64_t rails, const SourceLocation& place) {
  require_priced_by_links(network, place);
  const bool nics = network.topology && network.topology->nics;
  if (!network.node && network.topology && !nics)
    throw InputError(place, "the cluster's network has no nodes", R"(a cluster with "node")");
  const std::int64_t workers = node_workers_of(network);
  if (rails > workers)
    throw InputError(place, fmt::format("{} network ports among the {} of a node", rails, counted(workers, "worker")),
                     fmt::format("at most {}", workers));
  if (network.node) network.node->rails = rails;
  if (!nics) return;
  if (network.topology->planes > 1 || needs_planes(network.topology->kind)) network.topology->planes = rails;
  network.topology->nics = rails;
}

void change_oversubscription(Network& network, double ratio, const SourceLocation& place) {
  const bool has_topology = network.topology.has_value();
  const TopologyKind kind = has_topology ? network.topology->kind : TopologyKind::Star;
  if (kind != TopologyKind::FatTree && kind != TopologyKind::LeafSpine && kind != TopologyKind::Rail)
    throw InputError(place,
                     has_topology ? fmt::format("a topology of kind {} has no oversubscription", kind_name(kind))
                                  : "the cluster's network has no topology",
                     "a cluster with a fat-tree, leaf-spine or rail topology");
  network.topology->oversubscription = ratio;
}

void change_routing(Network& network, std::string_view text, const SourceLocation& place) {
  if (!network.topology) {
    parse_routing_in_words({}, text, TopologyKind::Rail, place);  // checks it only: without a topology there is one way
    return;
  }
  network.topology->routing = parse_routing_in_words(network.topology->routing, text, network.topology->kind, place);
}

void change_protocol(Network& network, std::string_view text, const SourceLocation& place) {
  const NcclProtocol only = choose_by_name(nccl_protocols, text, place, "NCCL has no protocol '{}'").value;
  if (!network.nccl) throw InputError(place, "the cluster does not describe NCCL", R"(a cluster with "nccl")");
  if (only == NcclProtocol::LL128 && (network.nccl->pcie || !network.nccl->ll128))
    throw InputError(place, "the cluster does not run LL128 everywhere", "ll or simple");
  network.nccl->only = only;
}

void change_placement(Network& network, std::string_view text, const SourceLocation& place) {
  const Placement placement = parse_placement(text, place);
  if (!network.topology && !placement.packed())
    throw InputError(place,
                     network.node ? "nodes without a topology are filled in order, without switches"
                                  : "the cluster's network has no topology to place ranks on",
                     "a cluster with a topology, such as leaf-spine-64; see docs/topologies.md");
  if (!network.topology) return;
  network.topology->placement = placement;
  require_placed_in_nodes(network);
}

std::optional<double> port_bandwidth(const Network& network) {
  if (network.topology) return network.topology->link.bandwidth;
  return network.beta && *network.beta > 0 ? std::optional(1 / *network.beta) : std::nullopt;
}

std::int64_t node_workers_of(const Network& network) {
  return network.node ? network.node->workers : has_gpus(network) ? network.topology->gpus_per_host : 1;
}

std::int64_t nodes_of(const Network& network, std::int64_t workers) {
  return layout_of(workers, node_workers_of(network)).nodes;
}

bool exceeds_nodes(const Cluster& cluster, std::int64_t workers) {
  const auto& interference = cluster.interference;
  return interference && interference->nodes && nodes_of(cluster.network, workers) > *interference->nodes;
}

namespace {

// The value for a number of nodes. `as_rate`: its reciprocal is interpolated.
double value_for(std::int64_t nodes, const std::vector<ValueOfNodes>& known, bool as_rate) {
  nodes = std::clamp(nodes, known.front().nodes, known.back().nodes);
  const auto above = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.nodes >= nodes; });
  if (above->nodes == nodes) return above->value;
  const auto below = above - 1;
  const auto log_of = [](std::int64_t count) { return std::log(static_cast<double>(count)); };
  const double share = (log_of(nodes) - log_of(below->nodes)) / (log_of(above->nodes) - log_of(below->nodes));
  if (!as_rate) return below->value + share * (above->value - below->value);
  return 1 / (1 / below->value + share * (1 / above->value - 1 / below->value));
}

std::string caveat_on(std::string_view name, std::int64_t nodes, const std::vector<ValueOfNodes>& known) {
  if (known.empty() || nodes == 1 || (nodes >= known.front().nodes && nodes <= known.back().nodes)) return "";
  const std::int64_t end = nodes < known.front().nodes ? known.front().nodes : known.back().nodes;
  return fmt::format("{} is given for {} to {} nodes: {} nodes use that of {}", name, known.front().nodes,
                     known.back().nodes, nodes, end);
}

}  // namespace

void settle_by_nodes(Network& network, std::int64_t workers) {
  const std::int64_t nodes = nodes_of(network, workers);
  if (const auto& known = network.alpha_of_nodes; !known.empty()) network.alpha = value_for(nodes, known, false);
  if (const auto& known = network.beta_of_nodes; !known.empty())
    network.beta = value_for(nodes, known, network.gives_bandwidth);
}

std::string by_nodes_caveat(const Network& network, std::int64_t workers) {
  const std::int64_t nodes = nodes_of(network, workers);
  const std::string alpha = caveat_on("alpha", nodes, network.alpha_of_nodes);
  const std::string rate = caveat_on(network.gives_bandwidth ? "bandwidth" : "beta", nodes, network.beta_of_nodes);
  return alpha.empty() || rate.empty() ? alpha + rate : alpha + "; " + rate;
}

}  // namespace allreplay
