#include "sim/network/max_min.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

namespace allreplay {

std::vector<double> max_min_rates(std::span<const double> capacities, std::span<const SharedFlow> flows) {
  struct State {
    double left = 0;     // of the capacity
    double growing = 0;  // Σ count·u of the flows that are not settled
    std::vector<std::size_t> flows;
  };
  std::vector<State> links(capacities.size());
  for (std::size_t f = 0; f < flows.size(); ++f)
    for (const LinkUse& use : flows[f].uses) {
      links[use.link].growing += flows[f].count * use.amount;
      links[use.link].flows.push_back(f);
    }

  using Entry = std::pair<double, LinkId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> full_at;
  for (LinkId l = 0; l < links.size(); ++l) {
    links[l].left = capacities[l];
    if (!links[l].flows.empty()) full_at.push({links[l].left / links[l].growing, l});
  }

  constexpr double growing = -1;
  std::vector<double> rates(flows.size(), growing);
  while (!full_at.empty()) {
    const auto [level, l] = full_at.top();
    full_at.pop();
    const bool open =
        std::any_of(links[l].flows.begin(), links[l].flows.end(), [&](std::size_t f) { return rates[f] == growing; });
    if (!open) continue;
    const double now = std::max(0.0, links[l].left) / links[l].growing;
    if (now > level) {
      full_at.push({now, l});
      continue;
    }
    for (const std::size_t f : links[l].flows) {
      if (rates[f] != growing) continue;
      rates[f] = level;
      for (const LinkUse& use : flows[f].uses) {
        links[use.link].left -= level * flows[f].count * use.amount;
        links[use.link].growing -= flows[f].count * use.amount;
      }
    }
  }
  for (std::size_t f = 0; f < flows.size(); ++f)
    if (flows[f].uses.empty()) rates[f] = std::numeric_limits<double>::infinity();
  return rates;
}

}  // namespace allreplay
