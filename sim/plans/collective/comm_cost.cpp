#include "sim/plans/collective/comm_cost.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/plans/collective/nccl.hpp"
#include "sim/plans/collective/parameter_server.hpp"
#include "sim/plans/collective/two_level.hpp"

namespace allreplay {

CommCost::CommCost(double a, double b) : a_(a), b_(b) {}

CommCost::CommCost(std::span<const CostPoint> points)
    : a_(points.front().seconds), points_(points.begin(), points.end()) {}

CommCost::CommCost(std::shared_ptr<const SizePrice> price) : price_(std::move(price)) {}

double CommCost::interpolate(double bytes) const {
  if (bytes <= static_cast<double>(points_.front().bytes)) return points_.front().seconds;
  auto above = std::lower_bound(points_.begin(), points_.end(), bytes, [](const CostPoint& point, double size) {
    return static_cast<double>(point.bytes) < size;
  });
  if (above == points_.end()) --above;
  const CostPoint& low = *(above - 1);
  const double slope = (above->seconds - low.seconds) / static_cast<double>(above->bytes - low.bytes);
  return std::max(0.0, low.seconds + slope * (bytes - static_cast<double>(low.bytes)));
}

CommCost::Both CommCost::both(WireBytes bytes) const {
  if (bytes <= 0) return {Time(0), Time(0)};
  if (price_) {
    const SizePrice::Cost cost = price_->of(bytes);
    const Time alone = to_time(before_ + cost.seconds);
    return {alone, alone - to_time(before_ + cost.start_up)};
  }
  const Time alone = (*this)(bytes);
  if (points_.empty()) return {alone, to_time(b_ * bytes)};
  return {alone, std::max(to_time(least_per_byte(bytes) * bytes), alone - to_time(before_ + a_))};
}

Time CommCost::least(WireBytes bytes) const {
  if (price_ && bytes > 0) return to_time(before_ + price_->least(bytes));
  if (points_.empty() || bytes <= 0) return (*this)(bytes);
  return to_time(before_ + least_per_byte(bytes) * bytes);
}

// The least time per byte of a table over the sizes up to `bytes`.
double CommCost::least_per_byte(double bytes) const {
  double per_byte = interpolate(bytes) / bytes;
  for (const CostPoint& point : points_)
    if (static_cast<double>(point.bytes) <= bytes)
      per_byte = std::min(per_byte, point.seconds / static_cast<double>(point.bytes));
  return per_byte;
}

Time CommCost::at_best(WireBytes bytes) const {
  if (bytes <= 0) return Time(0);
  if (price_) return to_time(price_->least(bytes));
  if (points_.empty()) return to_time(b_ * bytes);
  const CostPoint &last = points_.back(), &before = points_[points_.size() - 2];
  double per_byte = std::max(0.0, (last.seconds - before.seconds) / static_cast<double>(last.bytes - before.bytes));
  for (const CostPoint& point : points_)
    per_byte = std::min(per_byte, point.seconds / static_cast<double>(point.bytes));
  return to_time(per_byte * bytes);
}

const CommCost& OpCosts::operator[](CollectiveOp op) const {
  switch (op) {
    case CollectiveOp::AllReduce:
      return all_reduce;
    case CollectiveOp::ReduceScatter:
      return reduce_scatter;
    case CollectiveOp::AllGather:
      return all_gather;
    default:
      throw std::logic_error(fmt::format("nothing prices a {}", to_string(op)));
  }
}

LinkCosts link_costs(const MeasuredCost& measured, const CollectiveOptions& options,
                     const SourceLocation& place_of_gamma) {
  const Algorithm& algorithm = find_algorithm(measured.collective, measured.place / "collective");
  if (!algorithm.coefficients)
    throw InputError(measured.place / "collective",
                     fmt::format("{} cannot be priced with alpha and beta", algorithm.name),
                     "the algorithm that ran, such as ring, or a table");
  const Coefficients at = algorithm.coefficients(static_cast<double>(measured.workers), options);
  const double beta = (measured.b - at.gamma * measured.gamma) / at.beta;
  if (beta < 0)
    throw InputError(place_of_gamma, fmt::format("{} s/B is more than b = {} s/B allows", measured.gamma, measured.b),
                     fmt::format("at most {} s/B", measured.b / at.gamma));
  return {measured.a / at.alpha, beta, measured.gamma};
}

LinkCosts links_of_servers(const Network& network, LinkCosts own) {
  if (!network.server) return own;
  return {network.server->alpha.value_or(own.alpha), network.server->beta.value_or(own.beta), own.gamma};
}

LinkCosts links_of(const Network& network, std::int64_t workers, const CollectiveOptions& options) {
  if (network.measured) return link_costs(*network.measured, options, network.measured->place / "gamma");
  if (network.topology && !network.beta) {
    const RouteBound bound = consecutive_route_bound(*make_topology(*network.topology, workers), workers);
    return {start_up_between(network) + bound.latency, 1 / bound.bandwidth, network.gamma};
  }
  return {start_up_between(network), network.beta.value_or(0), network.gamma};
}

namespace {

// The cost from a measured table: all of it, or half for one half of the collective.
CommCost part_of(std::vector<CostPoint> table, bool whole) {
  for (CostPoint& point : table) point.seconds /= whole ? 1 : 2;
  return CommCost(table);
}

[[noreturn]] void refuse_other(const Network& network, const Algorithm& algorithm, std::string_view key,
                               std::int64_t measured, std::int64_t workers) {
  throw InputError(network.place / key,
                   fmt::format("was measured for {} with {} workers, which does not give {} with {}",
                               network.collective, measured, algorithm.name, workers),
                   "alpha and beta, or measured, which hold for other numbers of workers");
}

// Rejects a measurement inside one node for a collective of several nodes.
void require_reach(const Network& network, std::int64_t measured, std::int64_t workers, const SourceLocation& place) {
  if (!network.node || measured > network.node->workers || workers <= measured) return;
  throw InputError(
      place, fmt::format("was measured inside one node, with {} workers, which does not give {}", measured, workers),
      "a measurement of two or more nodes");
}

// The two tables that enclose `workers`; the two nearest ones if it is outside their range; the only one twice.
std::pair<const WorkersTable*, const WorkersTable*> neighbours(const std::vector<WorkersTable>& tables,
                                                               std::int64_t workers) {
  auto above = std::find_if(tables.begin(), tables.end(), [&](const auto& one) { return one.workers >= workers; });
  if (above == tables.end()) --above;
  if (above->workers == workers) return {&*above, &*above};
  if (above == tables.begin() && tables.size() > 1) ++above;
  return {above == tables.begin() ? &*above : &*(above - 1), &*above};
}

// Interpolates linearly in log(workers), at every size of either table. Beyond the largest number of workers, times do
// not fall below those of that table: falling times would soon reach zero.
std::vector<CostPoint> interpolated(const Network& network, std::int64_t workers) {
  const SourceLocation place = network.place / "tables";
  require_reach(network, network.tables.back().workers, workers, place);
  const auto [low, high] = neighbours(network.tables, workers);
  if (low->workers == workers || high->workers == workers) return (low->workers == workers ? low : high)->table;
  if (low == high)
    throw InputError(place, fmt::format("is for {} workers, which does not give {}", low->workers, workers),
                     "tables for two or more numbers of workers");
  const double share = std::log(static_cast<double>(workers) / static_cast<double>(low->workers)) /
                       std::log(static_cast<double>(high->workers) / static_cast<double>(low->workers));
  std::set<Bytes> sizes;
  for (const auto* one : {low, high})
    for (const CostPoint& point : one->table) sizes.insert(point.bytes);
  const CommCost below(low->table), above(high->table);
  std::vector<CostPoint> points;
  for (const Bytes bytes : sizes) {
    const double highest = to_seconds(above(bytes)),
                 extrapolated = (1 - share) * to_seconds(below(bytes)) + share * highest;
    points.push_back({bytes, share > 1 ? std::max(extrapolated, highest) : extrapolated});
    if (points.back().seconds <= 0)
      throw InputError(place,
                       fmt::format("extrapolated to {} workers, gives {} a negative time", workers, write_size(bytes)),
                       fmt::format("{} to {} workers", network.tables.front().workers, network.tables.back().workers));
  }
  return points;
}

// The topology, if its hosts are nodes for the collective: they have ports, or it works in groups or switches. Or null.
const TopologySpec* hosts_as_nodes(const Network& network, const Algorithm& algorithm,
                                   const CollectiveOptions& options) {
  if (network.node || network.measured || !network.topology || network.topology->gpus_per_host == 1) return nullptr;
  const bool grouped = algorithm.in_switches || (algorithm.grouped && options.groups > 1);
  return grouped || has_ports(*network.topology) ? &*network.topology : nullptr;
}

// On a network with one level, every worker is a node.
std::int64_t node_workers(const Network& network, const TopologySpec* hosts) {
  return network.node ? network.node->workers : hosts ? hosts->gpus_per_host : 1;
}

TwoLevels with_servers(const Network& network, TwoLevels levels) {
  const LinkCosts outside = links_of_servers(network, {levels.alpha_out, levels.beta_out});
  levels.alpha_out = outside.alpha;
  levels.beta_out = outside.beta;
  return levels;
}

// A beta in the file has precedence over the topology's links between hosts.
TwoLevels levels_of(const Network& network, const TopologySpec& hosts, std::int64_t workers) {
  const double inside = start_up_inside(network), between = start_up_between(network);
  const double beta_in = 1 / hosts.inner.bandwidth;
  if (network.beta) return {inside, beta_in, between, *network.beta, hosts.ports_of_host()};
  const RouteBound outside = machine_route_bound(*make_topology(hosts, workers), workers);
  return {inside + 2 * hosts.inner.latency, beta_in, between + outside.latency, 1 / outside.bandwidth,
          hosts.ports_of_host()};
}

// Rejects failed or changed links, which closed forms cannot represent.
void require_equal_links(const Network& network) {
  const std::int64_t changed = network.topology ? network.topology->changed_links() : 0;
  if (changed == 0) return;
  throw InputError(network.topology->place / "links",
                   fmt::format("changes {} links, but the closed forms of alpha-beta have no single links", changed),
                   "--fidelity fluid or message");
}

// The parts of the cost that α and β cause (and the coefficient of γ, if nodes change it).
TransferCost transfer_of(const Network& network, const Algorithm& algorithm, const NodeLayout& layout, std::int64_t all,
                         const LinkCosts& links, const Coefficients& times, const CollectiveOptions& options) {
  if (const TopologySpec* hosts = hosts_as_nodes(network, algorithm, options)) {
    const TwoLevels levels = levels_of(network, *hosts, all);
    return two_level_transfer(algorithm, layout, algorithm.servers ? with_servers(network, levels) : levels, options,
                              hosts->place);
  }
  if (!network.node || network.measured) return {times.alpha * links.alpha, times.beta * links.beta};
  const NodeLevel& node = *network.node;
  const TwoLevels levels{start_up_inside(network), node.beta.value_or(0), links.alpha, links.beta, node.rails};
  return two_level_transfer(algorithm, layout, levels, options, node.place);
}

// Rejects routes that take longer than any of NCCL's messages: its start-ups cannot contain them.
void require_usual_routes(const Network& network, std::int64_t workers) {
  const TopologySpec& spec = *network.topology;
  const NcclHops longest = longest_hops(*network.nccl);
  const double inside = spec.gpus_per_host > 1 ? 2 * spec.inner.latency : 0;
  const bool far_inside = inside > longest.inside;
  const double between = machine_route_bound(*make_topology(spec, workers), workers).latency;
  if (!far_inside && between <= longest.between) return;
  throw InputError(
      spec.place,
      fmt::format("has routes {} of {:.4g} us, but NCCL's start-ups in alpha-beta contain no more than {:.4g} us",
                  far_inside ? "inside a host" : "between hosts", (far_inside ? inside : between) * 1e6,
                  (far_inside ? longest.inside : longest.between) * 1e6),
      "--fidelity fluid or message, which add the excess; or shorter latencies, with the rest in alpha");
}

// True if NCCL runs on the hosts of a topology.
bool runs_on_hosts(const Network& network, const Algorithm& algorithm) {
  return !algorithm.coefficients && network.nccl && network.topology;
}

Network levels_of_hosts(const Network& network, std::int64_t workers) {
  if (workers > 1) require_equal_links(network);
  if (workers > 1) require_usual_routes(network, workers);
  return nccl_levels(network);
}

// The cost of one of a family's simultaneous collectives, among `layout.workers` of `all` workers.
CommCost price_op(const Network& network, const Algorithm& algorithm, CollectiveOp op, const NodeLayout& layout,
                  std::int64_t all, std::int64_t table_workers, const CollectiveOptions& options) {
  const std::int64_t workers = layout.workers;
  if (workers == 1) return {0, 0};
  require_equal_links(network);
  const bool whole = is_whole(algorithm, op);
  if (options.local && algorithm.servers) return local_ops(network, layout, options)[op];
  if (!network.table.empty()) {
    require_reach(network, table_workers, workers, network.place / "table");
    if (workers != table_workers || algorithm.name != network.collective)
      refuse_other(network, algorithm, "table", table_workers, workers);
    return part_of(network.table, whole);
  }
  if (!network.tables.empty()) {
    if (algorithm.name != network.collective)
      refuse_other(network, algorithm, "tables", network.tables.back().workers, workers);
    return part_of(interpolated(network, workers), whole);
  }
  if (!algorithm.coefficients) {
    require_nccl(network, algorithm.name);
    return CommCost(std::make_shared<const NcclPrice>(network, layout, op));
  }
  if (network.measured) require_reach(network, network.measured->workers, workers, network.measured->place);
  const LinkCosts own = links_of(network, all, options),
                  links = algorithm.servers ? links_of_servers(network, own) : own;
  const Coefficients times = algorithm.coefficients(static_cast<double>(workers), options);
  const auto [a, transfer, gamma] = transfer_of(network, algorithm, layout, all, links, times, options);
  const double reduction = gamma.value_or(times.gamma) * links.gamma;
  if (whole) {
    const bool payloads = op == CollectiveOp::AllGather && gathers_payloads(algorithm);
    return {a, (transfer + reduction) / (payloads ? static_cast<double>(workers) : 1)};
  }
  const double scattered = transfer / 2 + (network.measured ? reduction / 2 : reduction);
  return {a / 2, op == CollectiveOp::ReduceScatter ? scattered : transfer + reduction - scattered};
}

}  // namespace

OpCosts price_ops(const Network& network, const Algorithm& algorithm, std::int64_t workers, std::int64_t table_workers,
                  const CollectiveOptions& options) {
  if (runs_on_hosts(network, algorithm))
    return price_ops(levels_of_hosts(network, workers), algorithm, workers, table_workers, options);
  const NodeLayout layout = layout_of(workers, node_workers(network, hosts_as_nodes(network, algorithm, options)));
  const auto priced = [&](CollectiveOp op) {
    return price_op(network, algorithm, op, layout, workers, table_workers, options);
  };
  return {priced(CollectiveOp::AllReduce), priced(CollectiveOp::ReduceScatter), priced(CollectiveOp::AllGather)};
}

CallCost price_call(const Network& network, const Call& call, std::int64_t workers, std::int64_t table_workers,
                    const CollectiveOptions& options) {
  if (runs_on_hosts(network, *call.algorithm))
    return price_call(levels_of_hosts(network, workers), call, workers, table_workers, options);
  const TopologySpec* hosts = hosts_as_nodes(network, *call.algorithm, options);
  const bool nodes = network.node || hosts;
  const Group whole = call.group.of(workers);
  const NodeLayout layout =
      nodes ? layout_of(whole, node_workers(network, hosts), network.node ? network.node->place : hosts->place)
            : layout_of(whole.ranks, 1);
  CallCost priced{price_op(network, *call.algorithm, call.op, layout, workers, table_workers, options), channel_inside};
  if (nodes && layout.nodes > 1)
    priced.channels = layout.per_node > 1 ? channel_inside | channel_outside : channel_outside;
  return priced;
}

CommCost price(const Network& network, const Algorithm& algorithm, std::int64_t workers, std::int64_t table_workers,
               const CollectiveOptions& options) {
  return price_call(network, {CollectiveOp::AllReduce, everybody(), &algorithm}, workers, table_workers, options).cost;
}

namespace {

// Describes a measurement that is used for other numbers of nodes or workers than it was taken with.
std::string extrapolation_note(const Network& network, std::int64_t workers) {
  if (network.measured && network.node) {
    const auto nodes = [&](std::int64_t count) { return layout_of(count, network.node->workers).nodes; };
    const std::int64_t there = nodes(network.measured->workers), here = nodes(workers);
    if (there != here) return fmt::format("measured on {} nodes, extrapolated to {}", there, here);
  }
  if (network.tables.empty()) return "";
  const std::int64_t least = network.tables.front().workers, most = network.tables.back().workers;
  if (workers >= least && workers <= most) {
    const auto [low, high] = neighbours(network.tables, workers);
    const bool measured = low->workers == workers || high->workers == workers;
    return measured
               ? ""
               : fmt::format("note: interpolated between the tables of {} and {} workers", low->workers, high->workers);
  }
  return fmt::format("tables of {} to {} workers are extrapolated to {}", least, most, workers);
}

// Describes costs that no such network can have.
std::string impossible_cost(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                            const CollectiveOptions& options) {
  const bool tables = !network.table.empty() || !network.tables.empty();
  if (tables || !algorithm.coefficients) return "";
  if (network.line_rate) {
    const double beta = links_of(network, workers, options).beta, least = 1 / *network.line_rate;
    if (beta < least * 0.999)
      return fmt::format("{}a time per byte of {:.4g} ns/B beats the line rate of {} ({:.4g} ns/B)",
                         network.place.file.empty() ? "" : network.place.file + ": ", beta * 1e9,
                         format_rate(*network.line_rate), least * 1e9);
  }
  const Coefficients times = algorithm.coefficients(static_cast<double>(workers), options);
  const auto n = static_cast<double>(workers);
  if (algorithm.option == "tree_bandwidth" && times.beta < 2 * (n - 1) / n * 0.999)
    return fmt::format(
        "{} as printed moves {:.3g} bytes per byte and link, below the bandwidth bound 2(N-1)/N of any all-reduce "
        "(--option tree_bandwidth=physical corrects it)",
        algorithm.name, times.beta);
  return "";
}

}  // namespace

std::string implausible(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                        const CollectiveOptions& options) {
  if (workers == 1) return "";
  const std::string one = impossible_cost(network, algorithm, workers, options),
                    other = extrapolation_note(network, workers);
  return one.empty() || other.empty() ? one + other : one + "\n" + other;
}

}  // namespace allreplay
