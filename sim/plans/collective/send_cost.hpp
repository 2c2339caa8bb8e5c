// The costs of messages between the ranks of a pipeline, and a check that its groups lie evenly in nodes.
#pragma once

#include "sim/plans/collective/comm_cost.hpp"

namespace allreplay {

/// α and β of simultaneous sends from each of the `rank_workers` workers of pipeline rank `from` to its counterpart on
/// rank `to`: the network's "p2p", else those of its messages. On two levels these are the costs inside a node if no
/// pair crosses nodes, else those of a port, which ⌈x/r⌉ senders share if a node has r ports and at most x senders.
/// Throws InputError if the network states neither.
LinkCosts send_costs(const Network& network, std::int64_t from, std::int64_t to, std::int64_t rank_workers,
                     std::int64_t workers, const CollectiveOptions& options);

/// The algorithm that sums tied weights between two pipeline ranks if `named` is chosen: for nccl a ring.
const Algorithm& algorithm_of_tied(const Algorithm& named);

/// The cost of an all-reduce between two ranks: the closed form for two, with the α and β of a send between them.
CommCost tied_cost(const Algorithm& algorithm, const LinkCosts& send, const CollectiveOptions& options);

/// Throws InputError unless nodes and pipeline ranks of `rank_workers` workers divide each other, and each group has
/// equally many workers in each of its nodes, and as many nodes as the other groups.
void require_even(const Network& network, const Group& group, std::int64_t rank_workers, std::int64_t workers,
                  const SourceLocation& place);

}  // namespace allreplay
