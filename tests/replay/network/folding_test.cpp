// Messages folded against all of them.
#include "sim/replay/network/folding.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/inputs/cluster/topologies.hpp"
#include "tests/replay/network/meetings.hpp"
#include "tests/replay/network/networks.hpp"

#include "sim/base/core/random.hpp"

using namespace allreplay;

namespace {

std::unique_ptr<Topology> folding_network(const std::string& text, std::int64_t workers) {
  return make_topology(spec_of(text), workers);
}

const std::string four_rails = R"({"kind": "rail", "link": {"latency": "0.3 us", "bandwidth": "25 GB/s"}, "rails": 4,
  "gpus_per_host": 4, "inner": {"latency": "0 s", "bandwidth": "70 GB/s"}})";

std::vector<std::shared_ptr<const RoutedRounds>> routed(const std::vector<Rounds>& all, const Topology& topology) {
  std::vector<std::shared_ptr<const RoutedRounds>> result;
  for (const Rounds& rounds : all) result.push_back(std::make_shared<RoutedRounds>(rounds, topology, 1.7e-6));
  return result;
}

std::uint32_t classes(const Rounds& rounds, const Topology& topology) {
  const auto folded = fold(routed({rounds}, topology), topology.links());
  return folded ? folded->collectives.front()->slots : 0;
}

// When each of several ends, in flight together.
std::vector<Time> ends_of_tasks(Server& server, const std::vector<std::pair<Task, Time>>& tasks) {
  std::vector<Time> result(tasks.size(), never);
  std::vector<TaskId> done;
  std::size_t started = 0;
  for (;;) {
    const Time start = started < tasks.size() ? tasks[started].second : never;
    const Time now = std::min(start, server.next_completion());
    if (now == never) return result;
    while (server.next_completion() == now) {
      done.clear();
      server.complete(now, done);
      for (const TaskId id : done) result[id] = now;
    }
    for (; started < tasks.size() && tasks[started].second == now; ++started)
      server.start(static_cast<TaskId>(started), tasks[started].first, now);
  }
}

}  // namespace

TEST_CASE("equivalent messages are one class") {
  const auto all_reduce = CollectiveOp::AllReduce;
  // On a star all ranks of a ring are equivalent. On rails the places of a node's ranks in a ring are not: one sends to
  // another node; rings and nodes are. On a Fat-Tree of 4 ports (64 of 6-port switches: 9 hosts a pod), pods are.
  CHECK(classes(ring_rounds(16, 1, all_reduce), *star(16, link(1e-6, 1e9))) == 1);
  CHECK(classes(node_ring_rounds(InNodes(4, 4), 4, all_reduce), *folding_network(four_rails, 16)) == 4);
  CHECK(classes(ring_rounds(54, 1, all_reduce), *fat_tree(6, 54, link(1e-6, 1e9))) == 9);
  CHECK(classes(parameter_server_rounds(16, 16, all_reduce), *star(16, link(1e-6, 1e9))) == 1);
  // A link of its own speed makes all places of a ring differ; channels are not folded.
  CHECK(classes(ring_rounds(16, 1, all_reduce),
                *folding_network(R"({"kind": "star", "link": {"latency": "1 us", "bandwidth": "1 GB/s"},
                             "links": [{"between": ["h3", "s0"], "bandwidth": "0.9 GB/s"}]})",
                                 16)) == 0);
  CHECK(classes(double_binary_tree_rounds(16, 4, all_reduce), *star(16, link(1e-6, 1e9))) == 0);
}

TEST_CASE("folded messages end when all of them do") {
  Random random(17, 0);
  struct Case {
    std::string name;
    std::unique_ptr<Topology> topology;
    std::vector<Rounds> collectives;
  };
  const auto op = [](int i) {
    return std::array{CollectiveOp::AllReduce, CollectiveOp::AllGather, CollectiveOp::ReduceScatter}[i];
  };
  std::vector<Case> cases(5);
  cases[0] = {"rings on rails", folding_network(four_rails, 16), {}};
  cases[1] = {"rings on a torus",
              folding_network(R"({"kind": "torus", "dimensions": [4, 4],
                                              "link": {"latency": "1 us", "bandwidth": "1 GB/s"}})",
                              16),
              {}};
  cases[2] = {"parameter servers", leaf_spine(4, 4, 2, 2, link(1e-6, 1.25e9)), {}};
  cases[3] = {"halving-doubling", leaf_spine(4, 4, 4, 2, link(1e-6, 1.25e9)), {}};
  cases[4] = {"groups on rails", folding_network(four_rails, 16), {}};
  for (int i = 0; i < 3; ++i) {
    cases[0].collectives.push_back(node_ring_rounds(InNodes(4, 4), 4, op(i)));
    cases[1].collectives.push_back(ring_rounds(16, 4, op(i)));
    cases[2].collectives.push_back(parameter_server_rounds(16, 16, op(i)));
    cases[3].collectives.push_back(halving_doubling_rounds(16, op(i)));
    cases[4].collectives.push_back(among_groups(ring_rounds(4, 1, op(i)), 16, i == 0 ? 4 : 1));
  }
  for (const Case& one : cases)
    for (int times = 0; times < 20; ++times) {
      const auto all = routed(one.collectives, *one.topology);
      const auto folded = fold(all, one.topology->links());
      REQUIRE(folded);
      std::vector<std::pair<Task, Time>> tasks;
      Time at{0};
      for (std::uint64_t i = 1 + random.below(4); i > 0; --i) {
        tasks.push_back({{.bytes = static_cast<double>(1 + random.below(3'000'000)),
                          .call_id = static_cast<CallId>(random.below(3))},
                         at});
        at += Time(static_cast<std::int64_t>(random.below(300'000'000)));
      }
      MessageNetwork few(folded->collectives, folded->links, 0), each(all, one.topology->links(), 0);
      const std::vector<Time> found = ends_of_tasks(few, tasks), expected = ends_of_tasks(each, tasks);
      INFO(one.name << ", " << tasks.size() << " in flight");
      CHECK(few.events() == each.events());
      // A rate is a sum in another order, and an end may be rounded to the neighbouring picosecond in each round.
      for (std::size_t i = 0; i < tasks.size(); ++i)
        CHECK(std::abs((found[i] - expected[i]).count()) <= 40 * static_cast<std::int64_t>(tasks.size()));
    }
}
