#include "sim/replay/network/max_min.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace allreplay {

namespace {

struct LinkState {
  double left = 0;       // the capacity that settled flows leave
  double most = 0;       // an upper bound of its use: each flow at its rate without the others
  double growing = 0;    // Σ count·u of the flows that are not settled
  std::size_t open = 0;  // the number of these
  std::size_t end = 0;   // of its flows in `on_links`
};

std::vector<LinkState> states_of(std::span<const double> capacities, std::span<const SharedFlow> flows) {
  std::vector<LinkState> links(capacities.size());
  for (const SharedFlow& flow : flows) {
    double alone = std::numeric_limits<double>::infinity();
    for (const LinkUse& use : flow.uses) alone = std::min(alone, capacities[use.link] / (flow.count * use.amount));
    for (const LinkUse& use : flow.uses) {
      links[use.link].most += alone * flow.count * use.amount;
      links[use.link].growing += flow.count * use.amount;
      ++links[use.link].open;
    }
  }
  return links;
}

}  // namespace

std::vector<double> max_min_rates(std::span<const double> capacities, std::span<const SharedFlow> flows) {
  std::vector<LinkState> links = states_of(capacities, flows);
  using Entry = std::pair<double, LinkId>;
  std::vector<Entry> full_at;  // a heap, the least at the front
  std::size_t uses = 0;
  for (LinkId l = 0; l < links.size(); ++l) {
    links[l].left = capacities[l];
    links[l].end = std::exchange(uses, uses + links[l].open);  // the begin, until on_links is filled
    // Omits links that are never full: they are not bottlenecks. With large collectives these are most links.
    if (links[l].open > 0 && links[l].most >= capacities[l] * (1 - 1e-9))
      full_at.emplace_back(links[l].left / links[l].growing, l);
  }
  std::make_heap(full_at.begin(), full_at.end(), std::greater<>());
  std::vector<std::size_t> on_links(uses);
  for (std::size_t f = 0; f < flows.size(); ++f)
    for (const LinkUse& use : flows[f].uses) on_links[links[use.link].end++] = f;

  constexpr double growing = -1;
  std::vector<double> rates(flows.size(), growing);
  std::size_t settled = 0;
  for (std::size_t f = 0; f < flows.size(); ++f)
    if (flows[f].uses.empty()) rates[f] = std::numeric_limits<double>::infinity(), ++settled;
  while (settled < flows.size()) {
    std::pop_heap(full_at.begin(), full_at.end(), std::greater<>());
    const auto [level, l] = full_at.back();
    if (links[l].open == 0) {
      full_at.pop_back();
      continue;
    }
    const double now = std::max(0.0, links[l].left) / links[l].growing;
    if (now > level) {
      full_at.back().first = now;
      std::push_heap(full_at.begin(), full_at.end(), std::greater<>());
      continue;
    }
    full_at.pop_back();
    for (std::size_t i = l == 0 ? 0 : links[l - 1].end; i < links[l].end; ++i) {
      const std::size_t f = on_links[i];
      if (rates[f] != growing) continue;
      rates[f] = level;
      ++settled;
      for (const LinkUse& use : flows[f].uses) {
        links[use.link].left -= level * flows[f].count * use.amount;
        links[use.link].growing -= flows[f].count * use.amount;
        --links[use.link].open;
      }
    }
  }
  return rates;
}

}  // namespace allreplay
