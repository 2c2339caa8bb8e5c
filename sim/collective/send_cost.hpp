// What sends between the ranks of a pipeline cost, and whether its groups lie evenly in nodes.
#pragma once

#include "sim/collective/comm_cost.hpp"

namespace allreplay {

/// α and β of a send from each of the `of_rank` workers of rank `from` to its like on rank `to`, all at once: the
/// network's "p2p", or else its own, as of a message; on two levels those inside where no pair crosses a node, else
/// those of a port, which ⌈x/r⌉ of the at most x senders in one node share. Throws InputError where the network says
/// neither.
LinkCosts send_costs(const Network& network, std::int64_t from, std::int64_t to, std::int64_t of_rank,
                     std::int64_t workers, const CollectiveOptions& options);

/// What sums between the ranks of a pipeline, where this one is named: NCCL's choice between two is a ring.
const Algorithm& algorithm_of_tied(const Algorithm& named);

/// An all-reduce between two ranks: the closed form for two, of the α and β of a send between them.
CommCost tied_cost(const Algorithm& algorithm, const LinkCosts& send, const CollectiveOptions& options);

/// Throws InputError where a node holds parts of ranks of so many workers, or groups of theirs have not equally many
/// workers in each node that they touch, or not all the same shape.
void require_even(const Network& network, const Group& group, std::int64_t of_rank, std::int64_t workers,
                  const SourceLocation& place);

}  // namespace allreplay
