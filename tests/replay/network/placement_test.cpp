// The effect of placement: a ring on two leaves.
#include "tests/catch.hpp"
#include "tests/replay/network/networks.hpp"

#include "sim/base/core/json.hpp"

using namespace allreplay;

namespace {

constexpr double gigabyte = 1e9;

// Two leaves of four hosts, two spines; at an oversubscription of 2 a leaf's links up have 4 · 1 / (2 · 2) = 1 GB/s.
std::unique_ptr<Topology> two_leaves(std::string_view placement, double latency = 0) {
  TopologySpec spec{.kind = TopologyKind::LeafSpine, .link = link(latency, gigabyte), .oversubscription = 2};
  spec.leaves = spec.spines = 2;
  spec.hosts_per_leaf = 4;
  spec.placement = parse_placement(placement, {"test", ""});
  return make_topology(spec, 8);
}

// From each rank to the next: the number of ways that use each link from a leaf up to a spine.
std::vector<int> ways_up(const Topology& topology) {
  std::vector<int> ways(topology.links().size(), 0), up;
  std::vector<LinkId> path;
  for (NodeId rank = 0; rank < 8; ++rank) {
    path.clear();
    topology.route(rank, (rank + 1) % 8, path);
    for (const LinkId link : path) ++ways[link];
  }
  for (std::size_t id = 0; id < ways.size(); ++id)
    if (topology.name(topology.links()[id].from).starts_with("leaf") &&
        topology.name(topology.links()[id].to).starts_with("spine"))
      up.push_back(ways[id]);
  return up;
}

}  // namespace

TEST_CASE("a packed ring crosses between leaves twice, a spread one at every step") {
  // Packed: h3 to h4 and h7 to h0, both over spine 0. By leaf and spine: 0.0, 0.1, 1.0, 1.1.
  CHECK(ways_up(*two_leaves("packed")) == std::vector<int>{1, 0, 1, 0});
  // Spread: rank 0 on h0, 1 on h4, 2 on h1, …: into leaf 1 go h4, h5, h6, h7, two over either spine; so do those back.
  CHECK(ways_up(*two_leaves("spread")) == std::vector<int>{2, 2, 2, 2});
  // The same by a list that changes leaves between two pairs: h0 h1 | h4 h5 | h2 h3 | h6 h7 crosses four times, to h4,
  // h2, h6 and h0, all of spine 0.
  CHECK(ways_up(*two_leaves("h0,h1,h4,h5,h2,h3,h6,h7")) == std::vector<int>{2, 0, 2, 0});
}

TEST_CASE("a ring takes as long as the busiest link of its steps") {
  // 8 MB: 14 steps of 1 MB each. Packed, every link has one way: 1 ms a step. Spread, two share 1 GB/s: 2 ms a step.
  const Bytes bytes = 8'000'000;
  for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Message}) {
    const auto alone = [&](std::string_view placement) {
      return lay_on(setup("ring", 8, fidelity), *two_leaves(placement))->alone(bytes);
    };
    CHECK(alone("packed") == to_time(14e-3));
    CHECK(alone("spread") == to_time(28e-3));
    CHECK(alone("h0,h1,h4,h5,h2,h3,h6,h7") == to_time(28e-3));
    CHECK(alone("h4,h5,h6,h7,h0,h1,h2,h3") == to_time(14e-3));  // the leaves exchanged
  }
  // With 1 us a link and 5 us a message a way of four links starts up in 9 us, one of two in 7. Packed, a slice crosses
  // at every fourth step: in 14, four times. Spread, at each.
  const auto fluid = [&](std::string_view placement) {
    return lay_on(setup("ring", 8, Fidelity::Fluid, 5e-6), *two_leaves(placement, 1e-6))->alone(bytes);
  };
  const Time rounded = fluid("packed") - to_time(4 * 9e-6 + 10 * 7e-6 + 14e-3);
  CHECK((rounded >= Time(-7) && rounded <= Time(7)));  // half a picosecond a step
  CHECK(fluid("spread") == to_time(14 * 9e-6 + 28e-3));
}

TEST_CASE("with parameter servers every rank sends to every rank, for any placement") {
  for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Message}) {
    const auto alone = [&](std::string_view placement) {
      return lay_on(setup("parameter-server", 8, fidelity), *two_leaves(placement))->alone(8'000'000);
    };
    CHECK(alone("spread") == alone("packed"));
  }
}
