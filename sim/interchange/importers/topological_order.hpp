// The order in which the nodes of an imported graph can run.
#pragma once

#include <cstddef>
#include <vector>

namespace allreplay {

/// Every node after all that it waits for; among those that are free, in the order in which they became so (Kahn's
/// algorithm with a queue), the first by index. `waits_for[i]` lists the nodes that node i waits for. Shorter than
/// `waits_for` when there is a cycle: the nodes that are missing are on it or wait for it.
std::vector<std::size_t> topological_order(const std::vector<std::vector<std::size_t>>& waits_for);

/// A node that is missing from such an order. REQUIRES: one is.
std::size_t first_missing(const std::vector<std::size_t>& order, std::size_t nodes);

}  // namespace allreplay
