#include "sim/plans/collective/parameter_server.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/plans/collective/nccl.hpp"

namespace allreplay {

namespace {

struct LineCost {
  double a = 0, b = 0;
  LineCost operator+(const LineCost& other) const { return {a + other.a, b + other.b}; }
  CommCost cost() const { return {a, b}; }
};

struct LocalLegs {
  LineCost scatter, push, pull, gather;
};

void require_local(const Network& network, const NodeLayout& layout) {
  if (!network.node || network.measured || !network.table.empty() || !network.tables.empty())
    throw InputError(network.place, "has no nodes whose GPUs could sum before they push",
                     "\"node\" next to alpha and bandwidth, or local=false");
  if (!layout.full())
    throw InputError(
        network.node->place,
        fmt::format("{} workers do not fill nodes of {}: local sums would differ", layout.workers, layout.per_node),
        fmt::format("a multiple of {}", layout.per_node));
}

// Each of the g GPUs of a node pushes 1/g of the node's sum; h of them share a port; n nodes share S servers.
LocalLegs local_legs(const Network& network, const NodeLayout& layout, const CollectiveOptions& options) {
  require_local(network, layout);
  const NodeLevel& node = *network.node;
  const auto n = static_cast<double>(layout.nodes), g = static_cast<double>(layout.per_node);
  const double servers = options.servers > 0 ? static_cast<double>(options.servers) : n;
  const auto h = static_cast<double>((layout.per_node + node.rails - 1) / node.rails);
  const LinkCosts links =
      links_of_servers(network, {start_up_between(network), network.beta.value_or(0), network.gamma});
  const double inside = (g - 1) / g, outside = std::max(h / g, n / servers) * links.beta;
  const double a_in = (g - 1) * start_up_inside(network), b_in = inside * node.beta.value_or(0);
  return {{a_in, b_in + inside * network.gamma},
          {links.alpha, outside + network.gamma * (n - 1) / servers},
          {links.alpha, outside},
          {a_in, b_in}};
}

}  // namespace

bool uses_server_legs(const Algorithm& algorithm, const CollectiveOptions& options) {
  return algorithm.servers && (options.server_hosts == ServerHosts::Dedicated || options.local);
}

OpCosts local_ops(const Network& network, const NodeLayout& layout, const CollectiveOptions& options) {
  const LocalLegs legs = local_legs(network, layout, options);
  const LineCost there = legs.scatter + legs.push, back = legs.pull + legs.gather;
  return {(there + back).cost(), there.cost(), back.cost()};
}

namespace {

// The group that pushes and pulls: all workers, or one of each node; dedicated servers follow the workers.
Group with_servers(std::int64_t workers, std::int64_t node_workers, const CollectiveOptions& options) {
  const std::int64_t step = options.local ? std::min(node_workers, workers) : 1, senders = workers / step;
  if (options.server_hosts != ServerHosts::Dedicated) return {senders, step, step};
  const std::int64_t servers = options.servers > 0 ? options.servers : senders;
  Group group{senders + servers, step, step};
  for (std::int64_t sender = 0; sender < senders; ++sender) group.members.push_back(sender * step);
  for (std::int64_t server = 0; server < servers; ++server) group.members.push_back(workers + server);
  return group;
}

}  // namespace

std::vector<ServerLeg> server_legs(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                                   std::int64_t table_workers, const CollectiveOptions& options) {
  const bool dedicated = options.server_hosts == ServerHosts::Dedicated;
  const Channels back = dedicated ? channel_back : channel_outside;
  const std::int64_t node_workers = network.node ? network.node->workers : 1;
  const Group servers = with_servers(workers, node_workers, options);
  const Call push(CollectiveOp::ReduceScatter, servers, &algorithm), pull(CollectiveOp::AllGather, servers, &algorithm);
  if (!options.local) {
    const OpCosts costs = price_ops(network, algorithm, workers, table_workers, options);
    return {{push, costs.reduce_scatter, channel_outside}, {pull, costs.all_gather, back}};
  }
  const LocalLegs legs = local_legs(network, layout_of(workers, node_workers), options);
  const Group node = consecutive(std::min(node_workers, workers)).of(workers);
  return {{{CollectiveOp::ReduceScatter, node, &algorithm}, legs.scatter.cost(), channel_inside},
          {push, legs.push.cost(), channel_outside},
          {pull, legs.pull.cost(), back},
          {{CollectiveOp::AllGather, node, &algorithm}, legs.gather.cost(), channel_inside}};
}

}  // namespace allreplay
