// `fluid` with many collectives in flight against a second, naive simulator: to rounding, and to the event.
#include "sim/replay/network/fluid.hpp"

#include "tests/catch.hpp"
#include "tests/replay/network/naive_fluid.hpp"
#include "tests/replay/network/networks.hpp"

#include "sim/base/core/random.hpp"
#include "sim/replay/engine/replay.hpp"

using namespace allreplay;

namespace {

// Computation that ends at random instants, each end followed by a collective; `in_flight` of them at a time.
struct Traffic {
  TaskGraph graph;
  std::int64_t window = 1;
};

Traffic random_traffic(Random& random) {
  constexpr std::int64_t windows[] = {1, 2, 3, 16, Window::unlimited};
  Traffic traffic;
  traffic.window = windows[random.below(5)];
  const auto count = static_cast<std::int64_t>(2 + random.below(40));
  const bool alike = random.below(2) == 0;
  const Bytes most = random.below(2) == 0 ? 8'000'000 : 20'000;  // rounds of mostly bytes, or of mostly start-up
  const auto pause = random.below(3) == 0 ? std::uint64_t{1} : 1 + random.below(20'000'000'000);  // ps
  for (std::int64_t i = 0; i < count; ++i)
    traffic.graph.add({.queue = 0, .position = i, .duration = Time(static_cast<std::int64_t>(random.below(pause)))});
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bytes = static_cast<Bytes>(random.below(20) == 0 ? 0 : alike ? most / 2 : random.below(most));
    const auto call_id = static_cast<std::uint32_t>(random.below(2));
    traffic.graph.precede(static_cast<TaskId>(i),
                          traffic.graph.add({.queue = 1, .position = i, .bytes = bytes, .call_id = call_id}));
  }
  traffic.graph.link();
  return traffic;
}

Timeline replayed(const Traffic& traffic, Server& network) {
  Stream stream;
  return replay(traffic.graph, {{{"compute", {}, 0}, {"network", {Order::FirstReady, {traffic.window}}, 1}},
                                {{&stream, Phase::Compute}, {&network, Phase::Communication}},
                                {}});
}

}  // namespace

TEST_CASE("fluid gives the same result with and without its short cuts") {
  Random random(11, 0);
  const auto tree = fat_tree(4, 16, link(1.3e-6, 1.25e9));
  const auto line = make_topology({.kind = TopologyKind::Ring, .link = link(0.7e-6, 1e9)}, 16);
  const auto rounds = [](const char* name) {
    return rounds_of(find_algorithm(name, {}), 16, {}, CollectiveOp::AllReduce, {});
  };
  std::int64_t events = 0;
  std::size_t spans = 0, equal = 0;
  for (const Topology* topology : {tree.get(), line.get()})
    for (const char* name : {"ring", "halving-doubling", "double-binary-tree", "binary-tree", "parameter-server"})
      for (int times = 0; times < 40; ++times) {
        const double alpha = random.below(4) == 0 ? 0 : 45.25e-6, gamma = random.below(2) == 0 ? 0 : 0.037e-9;
        const std::vector<Rounds> collectives{rounds(name), rounds("ring")};
        const auto shapes = std::make_shared<Shapes>();
        std::vector<std::shared_ptr<const RoundLoads>> loads;
        for (const Rounds& one : collectives) loads.push_back(std::make_shared<RoundLoads>(one, *topology, *shapes));
        shapes->fold();
        const Traffic traffic = random_traffic(random);
        FluidNetwork network(loads, shapes, alpha, gamma);
        NaiveFluid naive(collectives, *topology, alpha, gamma);
        const Timeline one = replayed(traffic, network), other = replayed(traffic, naive);
        INFO(name << ", window " << traffic.window << ", alpha " << alpha << ", gamma " << gamma);
        CHECK(network.events() == naive.events());
        // The two sum in different orders, so that an end of a round may be rounded to neighbouring picoseconds: a
        // difference of one picosecond for each round that has ended. If no end is that close to a boundary, there is
        // no difference.
        std::int64_t worst = 0;
        for (std::size_t id = 0; id < one.spans.size(); ++id) {
          const Span &here = one.spans[id], &there = other.spans[id];
          const std::int64_t per_rank_start =
              std::max(std::abs((here.start - there.start).count()), std::abs((here.end - there.end).count()));
          worst = std::max(worst, per_rank_start);
          ++spans;
          if (per_rank_start == 0) ++equal;
        }
        CHECK(worst <= one.events);
        events += one.events;
      }
  CHECK(events > 100'000);
  CHECK(static_cast<double>(equal) > 0.99 * static_cast<double>(spans));
}
