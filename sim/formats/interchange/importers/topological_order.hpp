// Sorts the nodes of an imported graph topologically.
#pragma once

#include <cstddef>
#include <vector>

namespace allreplay {

/// Returns every node after its dependencies, which `waits_for[i]` lists for node i (Kahn's algorithm with a queue).
/// Nodes become ready by index first, then in the order in which their last dependency is visited. Nodes on a cycle, or
/// that depend on one, are missing.
std::vector<std::size_t> topological_order(const std::vector<std::vector<std::size_t>>& waits_for);

/// Returns the first node that is missing from such an order. REQUIRES: one is.
std::size_t first_missing(const std::vector<std::size_t>& order, std::size_t nodes);

}  // namespace allreplay
