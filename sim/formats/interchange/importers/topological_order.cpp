#include "sim/formats/interchange/importers/topological_order.hpp"

#include <algorithm>

namespace allreplay {

std::vector<std::size_t> topological_order(const std::vector<std::vector<std::size_t>>& waits_for) {
  const std::size_t nodes = waits_for.size();
  std::vector<std::vector<std::size_t>> frees(nodes);
  std::vector<std::size_t> missing(nodes), order;
  for (std::size_t node = 0; node < nodes; ++node) {
    missing[node] = waits_for[node].size();
    for (const std::size_t other : waits_for[node]) frees[other].push_back(node);
    if (missing[node] == 0) order.push_back(node);
  }
  for (std::size_t next = 0; next < order.size(); ++next)
    for (const std::size_t freed : frees[order[next]])
      if (--missing[freed] == 0) order.push_back(freed);
  return order;
}

std::size_t first_missing(const std::vector<std::size_t>& order, std::size_t nodes) {
  std::vector<bool> reached(nodes);
  for (const std::size_t node : order) reached[node] = true;
  return static_cast<std::size_t>(std::find(reached.begin(), reached.end(), false) - reached.begin());
}

}  // namespace allreplay
