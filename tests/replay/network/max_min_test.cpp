// Max-min fair sharing: small systems by hand, and the definition of max-min fairness on random ones.
#include "sim/replay/network/max_min.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "tests/catch.hpp"

#include "sim/base/core/random.hpp"
#include "sim/replay/network/fair_links.hpp"

using namespace allreplay;

namespace {

using Routes = std::vector<std::vector<LinkId>>;

std::vector<double> rates_of(MaxMin& links, const std::vector<SharedFlow>& flows) {
  const std::span<const double> rates = links.rates(flows);
  return {rates.begin(), rates.end()};
}

std::vector<double> rates_of(const std::vector<double>& capacities, const Routes& routes) {
  std::vector<std::vector<LinkUse>> uses;
  for (const auto& route : routes) {
    uses.emplace_back();
    for (const LinkId link : route) uses.back().push_back({link, 1});
  }
  std::vector<SharedFlow> flows;
  for (const auto& use : uses) flows.push_back({use});
  MaxMin links(capacities);
  return rates_of(links, flows);
}

// No link carries more than it can, and every flow has a bottleneck: a full link on which no flow is faster. (Then it
// can only gain if a slower or equal one there loses.)
void require_max_min(const std::vector<double>& capacities, const Routes& routes, const std::vector<double>& rates) {
  std::vector<double> carried(capacities.size(), 0), fastest(capacities.size(), 0);
  for (std::size_t f = 0; f < routes.size(); ++f)
    for (const LinkId link : routes[f]) {
      carried[link] += rates[f];
      fastest[link] = std::max(fastest[link], rates[f]);
    }
  for (std::size_t link = 0; link < capacities.size(); ++link) REQUIRE(carried[link] <= capacities[link] * (1 + 1e-9));
  for (std::size_t f = 0; f < routes.size(); ++f)
    REQUIRE(std::any_of(routes[f].begin(), routes[f].end(), [&](LinkId link) {
      return carried[link] >= capacities[link] * (1 - 1e-8) && rates[f] >= fastest[link] * (1 - 1e-8);
    }));
}

std::vector<LinkId> random_route(Random& random, std::size_t links) {
  std::set<LinkId> route;
  const std::size_t hops = 1 + random.below(std::min<std::size_t>(links, 5));
  while (route.size() < hops) route.insert(static_cast<LinkId>(random.below(links)));
  return {route.begin(), route.end()};
}

std::vector<Link> links_of(const std::vector<double>& capacities) {
  std::vector<Link> links;
  for (const double capacity : capacities) links.push_back({0, 0, 0, capacity * 1e12});
  return links;
}

}  // namespace

TEST_CASE("max-min by hand") {
  // One link of 3: three flows get 1 each.
  CHECK(rates_of({3}, {{0}, {0}, {0}}) == std::vector<double>{1, 1, 1});
  // Links of 1 and 2: the long flow and its fellow on the first get 1/2 each, the one on the second what is left, 3/2.
  CHECK(rates_of({1, 2}, {{0, 1}, {0}, {1}}) == std::vector<double>{0.5, 0.5, 1.5});
  // A line of three links of 1 and one flow along all of it: with one more on each link, everybody 1/2.
  CHECK(rates_of({1, 1, 1}, {{0, 1, 2}, {0}, {1}, {2}}) == std::vector<double>{0.5, 0.5, 0.5, 0.5});
  // Two more on the middle link: there 1/3 each, and 2/3 for those that share an outer link with the long flow.
  const auto rates = rates_of({1, 1, 1}, {{0, 1, 2}, {0}, {1}, {1}, {2}});
  CHECK(rates[0] == Approx(1.0 / 3));
  CHECK(rates[1] == Approx(2.0 / 3));
  CHECK(rates[3] == Approx(1.0 / 3));
  CHECK(rates[4] == Approx(2.0 / 3));
}

TEST_CASE("max-min with amounts and counts") {
  // Flow 0 uses all of link 0 and half of link 1 at full speed; flow 1 only link 1. Without link 1, flow 0 would have
  // 1, and link 1 is full when x/2 + x = 1: both 2/3.
  const std::vector<LinkUse> a = {{0, 1}, {1, 0.5}}, b = {{1, 1}};
  MaxMin links({1, 1});
  const auto rates = rates_of(links, {{a}, {b}});
  CHECK(rates[0] == Approx(2.0 / 3));
  CHECK(rates[1] == Approx(2.0 / 3));
  // Two of flow 1: x/2 + 2x = 1.
  CHECK(rates_of(links, {{a}, {b, 2}})[1] == Approx(0.4));
  // Nothing is left over from the calls before.
  CHECK(rates_of(links, {{a}, {b}}) == rates);
  CHECK(rates_of(links, {{a}}) == std::vector<double>{1});
}

TEST_CASE("a flow is infinitely fast without links, or if its links are never full") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<LinkUse> narrow = {{0, 1}, {1, 1}}, wide = {{1, 1}};
  MaxMin links({1, infinity});
  CHECK(rates_of(links, {{narrow}, {{}}, {wide}, {narrow}}) == std::vector<double>{0.5, infinity, infinity, 0.5});
  MaxMin none({});
  CHECK(rates_of(none, {{{}}}) == std::vector<double>{infinity});
  CHECK(rates_of(none, {}).empty());
}

TEST_CASE("kept rates if flows share whole routes, or each meets the next") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    Random random(seed, 3);
    // Five ways that do not meet, or a line of 40 links, each a little wider than the one before and full with two
    // flows, so that one that goes leaves something to all behind it.
    const bool line = seed % 2 == 0;
    std::vector<double> capacities;
    for (int i = 0; i < 40; ++i) capacities.push_back(line ? 1 + 0.1 * i : 1 + static_cast<double>(random.below(3)));
    const std::vector<Link> links = links_of(capacities);
    FairLinks kept(links);
    Routes routes(39);
    for (int change = 0; change < 60; ++change) {
      const auto flow = static_cast<FairLinks::FlowId>(random.below(routes.size()));
      std::vector<FairLinks::FlowId> changed;
      if (!routes[flow].empty()) {
        kept.remove(flow);
        kept.settle(changed);
        routes[flow].clear();
      } else {
        const LinkId first = line ? flow : flow % 5 * 3;
        routes[flow] = line ? std::vector<LinkId>{first, first + 1} : std::vector<LinkId>{first, first + 1, first + 2};
        kept.add(flow, routes[flow]);
        kept.settle(changed);
      }
      Routes there;
      std::vector<double> rates;
      for (FairLinks::FlowId one = 0; one < routes.size(); ++one) {
        if (routes[one].empty()) continue;
        there.push_back(routes[one]);
        rates.push_back(kept.rate(one));
      }
      require_max_min(capacities, there, rates);
      const std::vector<double> fresh = rates_of(capacities, there);
      for (std::size_t i = 0; i < fresh.size(); ++i) REQUIRE(rates[i] == Approx(fresh[i]).epsilon(1e-8));
    }
  }
}

TEST_CASE("random systems are max-min fair, computed once or kept") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    Random random(seed, 0);
    const std::size_t count = 1 + random.below(seed % 3 == 0 ? 200 : 12);
    std::vector<double> capacities;
    // Half of the systems have equal links, which makes ties the rule.
    for (std::size_t i = 0; i < count; ++i) capacities.push_back(seed % 2 == 0 ? 1.0 : 0.1 + random.uniform());
    const std::vector<Link> links = links_of(capacities);
    FairLinks kept(links);
    std::vector<std::vector<LinkId>> routes(60);  // by flow; empty: not there
    for (int change = 0; change < 40; ++change) {
      for (std::uint64_t i = 0; i <= random.below(4); ++i) {
        const auto flow = static_cast<FairLinks::FlowId>(random.below(routes.size()));
        if (!routes[flow].empty()) {
          kept.remove(flow);
          std::vector<FairLinks::FlowId> changed;
          if (random.below(2) == 0) kept.settle(changed);
          routes[flow].clear();
        } else {
          std::vector<FairLinks::FlowId> changed;
          kept.settle(changed);  // the number may have been used in this instant
          routes[flow] = random_route(random, count);
          kept.add(flow, routes[flow]);
        }
      }
      std::vector<FairLinks::FlowId> changed;
      kept.settle(changed);
      Routes there;
      std::vector<double> rates;
      for (FairLinks::FlowId flow = 0; flow < routes.size(); ++flow) {
        if (routes[flow].empty()) continue;
        there.push_back(routes[flow]);
        rates.push_back(kept.rate(flow));
      }
      require_max_min(capacities, there, rates);
      const std::vector<double> fresh = rates_of(capacities, there);
      require_max_min(capacities, there, fresh);
      for (std::size_t i = 0; i < fresh.size(); ++i) REQUIRE(rates[i] == Approx(fresh[i]).epsilon(1e-8));
    }
  }
}
