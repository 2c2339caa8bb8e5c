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

// Replays the traffic by both simulators, and compares them.
class Comparison {
 public:
  Comparison(const std::vector<Rounds>& collectives, const Topology& topology)
      : collectives_(collectives), topology_(topology) {
    for (const Rounds& one : collectives) loads_.push_back(std::make_shared<RoundLoads>(one, topology, *shapes_));
    shapes_->fold();
  }

  void compare(const Traffic& traffic, double alpha, double gamma) {
    FluidNetwork network(loads_, shapes_, alpha, gamma);
    NaiveFluid naive(collectives_, topology_, alpha, gamma);
    const Timeline one = replayed(traffic, network), other = replayed(traffic, naive);
    INFO("window " << traffic.window << ", alpha " << alpha << ", gamma " << gamma);
    CHECK(network.events() == naive.events());
    // The two sum in different orders, so that an end of a round may be rounded to neighbouring picoseconds: a
    // difference of one picosecond for each round that has ended. If no end is that close to a boundary, there is
    // no difference.
    std::int64_t worst = 0;
    for (std::size_t id = 0; id < one.spans.size(); ++id) {
      const Span &here = one.spans[id], &there = other.spans[id];
      const std::int64_t off =
          std::max(std::abs((here.start - there.start).count()), std::abs((here.end - there.end).count()));
      worst = std::max(worst, off);
      ++spans;
      if (off == 0) ++equal;
    }
    CHECK(worst <= one.events);
    events += one.events;
  }

  std::int64_t events = 0;
  std::size_t spans = 0, equal = 0;

 private:
  const std::vector<Rounds>& collectives_;
  const Topology& topology_;
  std::shared_ptr<Shapes> shapes_ = std::make_shared<Shapes>();
  std::vector<std::shared_ptr<const RoundLoads>> loads_;
};

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
    for (const char* name : {"ring", "halving-doubling", "double-binary-tree", "binary-tree", "parameter-server"}) {
      INFO(name);
      const std::vector<Rounds> collectives{rounds(name), rounds("ring")};
      Comparison simulators(collectives, *topology);
      for (int times = 0; times < 40; ++times) {
        const double alpha = random.below(4) == 0 ? 0 : 45.25e-6, gamma = random.below(2) == 0 ? 0 : 0.037e-9;
        simulators.compare(random_traffic(random), alpha, gamma);
      }
      events += simulators.events;
      spans += simulators.spans;
      equal += simulators.equal;
    }
  CHECK(events > 100'000);
  CHECK(static_cast<double>(equal) > 0.99 * static_cast<double>(spans));
}

// The ring in which each rank sends to the one `stride` further. REQUIRES: no common divisor with one.ranks.
Rounds strided(Rounds one, Rank stride) {
  std::vector<Rank> number(one.ranks);  // by rank: its number in the ring
  for (Rank i = 0; i < one.ranks; ++i) number[i * stride % one.ranks] = i;
  for (Round& round : one.rounds)
    round.sends = [=, ranks = one.ranks, sends = round.sends](Rank from, std::int64_t turn, std::vector<Send>& out) {
      const std::size_t first = out.size();
      sends(number[from], turn, out);
      for (std::size_t i = first; i < out.size(); ++i) out[i].to = out[i].to * stride % ranks;
    };
  return one;
}

TEST_CASE("collectives of unequal start-ups take turns, overtake and meet as in the naive simulator") {
  Random random(12, 0);
  const auto line = make_topology({.kind = TopologyKind::Ring, .link = link(0.7e-6, 12.5e9)}, 32);
  const Rounds ring = rounds_of(find_algorithm("ring", {}), 32, {}, CollectiveOp::AllReduce, {});
  const std::vector<Rounds> rings{ring, strided(ring, 3), strided(ring, 5)};
  Comparison simulators(rings, *line);
  for (int times = 0; times < 200; ++times) {
    // Start-ups take 48.75, 45.95 and 47.35 us, so that the second one overtakes the first, whose repetitions begin
    // about when the third one's bytes, 1.4 us of them, have moved.
    const std::int64_t second = 2'800'000 + static_cast<std::int64_t>(random.below(10'000'000)),
                       third = 46'250'000 + static_cast<std::int64_t>(random.below(2'500'000));
    Traffic traffic{{}, Window::unlimited};
    for (const std::int64_t duration : {std::int64_t{0}, second, third - second})
      traffic.graph.add({.queue = 0, .position = std::ssize(traffic.graph.tasks()), .duration = Time(duration)});
    for (TaskId i = 0; i < 3; ++i)
      traffic.graph.precede(i, traffic.graph.add({.queue = 1,
                                                  .position = i,
                                                  .bytes = static_cast<double>(i == 2 ? 187'000 : random.below(4'000)),
                                                  .call_id = i == 0 ? 2u : i - 1}));
    traffic.graph.link();
    simulators.compare(traffic, 45.25e-6, 0);
  }
  CHECK(static_cast<double>(simulators.equal) > 0.99 * static_cast<double>(simulators.spans));
}
