#include "sim/replay/network/max_min.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

namespace allreplay {

namespace {

struct LinkState {
  double left = 0;         // the capacity that settled flows leave
  double growing = 0;      // Σ count·u of the flows that are not settled
  double most = 0;         // an upper bound of its use: each flow at its fastest
  std::uint32_t open = 0;  // the number of flows that are not settled
  std::uint32_t end = 0;   // of its flows in `on_links`
};

std::vector<LinkState> states_of(std::span<const double> capacities, std::span<const SharedFlow> flows) {
  std::vector<LinkState> links(capacities.size());
  for (const SharedFlow& flow : flows)
    for (const LinkUse& use : flow.uses) {
      links[use.link].growing += flow.count * use.amount;
      links[use.link].most += flow.fastest * flow.count * use.amount;
      ++links[use.link].open;
    }
  return links;
}

// A link, and a lower bound of the level at which it is full.
struct Filling {
  double level;
  LinkId link;
  bool operator>(const Filling& other) const {
    return static_cast<int>(level > other.level) |
           (static_cast<int>(level == other.level) & static_cast<int>(link > other.link));
  }
};

}  // namespace

std::vector<double> max_min_rates(std::span<const double> capacities, std::span<const SharedFlow> flows) {
  std::vector<LinkState> links = states_of(capacities, flows);
  std::vector<Filling> full_at;  // a heap, the least at the front
  full_at.reserve(links.size());
  std::uint32_t uses = 0;
  for (LinkId l = 0; l < links.size(); ++l) {
    links[l].left = capacities[l];
    links[l].end = std::exchange(uses, uses + links[l].open);  // the begin, until on_links is filled
    // Omits links that are never full: they are not bottlenecks. With large collectives these are most links.
    if (links[l].open > 0 && links[l].most >= capacities[l] * (1 - 1e-9))
      full_at.push_back({links[l].left / links[l].growing, l});
  }
  std::make_heap(full_at.begin(), full_at.end(), std::greater<>());
  std::vector<std::uint32_t> on_links(uses);
  for (std::uint32_t f = 0; f < flows.size(); ++f)
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
      full_at.back().level = now;
      std::push_heap(full_at.begin(), full_at.end(), std::greater<>());
      continue;
    }
    full_at.pop_back();
    for (std::uint32_t i = l == 0 ? 0 : links[l - 1].end; i < links[l].end; ++i) {
      const std::uint32_t f = on_links[i];
      if (rates[f] != growing) continue;
      rates[f] = level;
      ++settled;
      const double count = flows[f].count, rate = level * count;
      for (const LinkUse& use : flows[f].uses) {
        LinkState& link = links[use.link];
        link.left -= rate * use.amount;
        link.growing -= count * use.amount;
        --link.open;
      }
    }
  }
  return rates;
}

}  // namespace allreplay
