#include "sim/plans/collective/send_cost.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/plans/collective/nccl.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/plans/collective/two_level.hpp"

namespace allreplay {

namespace {

constexpr std::string_view uneven_remedy = "; or --fidelity fluid --collective ring, which follow each link";

}  // namespace

LinkCosts send_costs(const Network& network, std::int64_t from, std::int64_t to, std::int64_t rank_workers,
                     std::int64_t workers, const CollectiveOptions& options) {
  if (network.p2p) return {network.p2p->alpha, network.p2p->beta, network.gamma};
  if (!network.measured && (!network.table.empty() || !network.tables.empty()))
    throw InputError(network.place, "gives the cost of whole collectives, but not of a send between two ranks",
                     "add \"p2p\": {\"alpha\": …, \"bandwidth\": …}");
  LinkCosts costs = links_of(network, workers, options);
  if (!network.node || network.measured) return costs;
  const NodeLevel& node = *network.node;
  std::int64_t most = 0, current = -1, senders = 0;  // the most senders to other nodes that a node has
  for (std::int64_t worker = from * rank_workers; worker < (from + 1) * rank_workers; ++worker) {
    const std::int64_t home = worker / node.workers;
    if (home == (worker + (to - from) * rank_workers) / node.workers) continue;
    senders = home == current ? senders + 1 : 1;
    current = home;
    most = std::max(most, senders);
  }
  if (most == 0) return {start_up_inside(network), node.beta.value_or(0), network.gamma};
  costs.beta *= static_cast<double>((most + node.rails - 1) / node.rails);
  return costs;
}

const Algorithm& algorithm_of_tied(const Algorithm& named) {
  return named.coefficients ? named : find_algorithm("ring", {});
}

CommCost tied_cost(const Algorithm& algorithm, const LinkCosts& send, const CollectiveOptions& options) {
  const Algorithm& priced = algorithm_of_tied(algorithm);
  CollectiveOptions flat = options;
  flat.groups = 1;
  const Coefficients times = priced.coefficients(2, flat);
  return {times.alpha * send.alpha, times.beta * send.beta + times.gamma * send.gamma};
}

void require_even(const Network& network, const Group& group, std::int64_t rank_workers, std::int64_t workers,
                  const SourceLocation& place) {
  const std::int64_t node = node_workers_of(network);
  if (node == 1 || workers <= node) return;
  if (rank_workers % node != 0 && node % rank_workers != 0)
    throw InputError(place, fmt::format("{} workers of a pipeline rank do not fit nodes of {}", rank_workers, node),
                     fmt::format("a multiple or a divisor of the node's workers{}", uneven_remedy));
  if (rank_workers <= node || group.ranks == 1) return;
  const auto shapes = groups_by_node(rank_workers, group.ranks, group.stride, node);
  for (const auto& one : shapes)
    for (const NodeShare& share : one)
      if (one.size() != shapes.front().size() || share.ranks != shapes.front().front().ranks)
        throw InputError(
            place,
            fmt::format("groups of {} workers, {} apart, are spread unevenly over nodes of {}", group.ranks,
                        group.stride, node),
            fmt::format("degrees that divide the node's workers, or are multiples of them{}", uneven_remedy));
}

}  // namespace allreplay
