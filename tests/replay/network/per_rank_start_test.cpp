// Ranks that start at different times: examples by hand, and comparison with the second simulator.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "tests/catch.hpp"
#include "tests/replay/network/meetings.hpp"
#include "tests/replay/network/naive_message.hpp"
#include "tests/replay/network/networks.hpp"

#include "sim/base/core/random.hpp"
#include "sim/replay/engine/replay.hpp"
#include "sim/replay/network/message.hpp"

using namespace allreplay;

namespace {

Parties each_alone(Rank ranks) {
  Parties parties;
  for (Rank rank = 0; rank < ranks; ++rank) parties.push_back({rank});
  return parties;
}

// Returns the end of one collective of `bytes` bytes, whose ranks start at the given times in ps.
Time end_of(const char* collective, Rank ranks, std::int64_t bytes, const std::vector<std::int64_t>& starts,
            double alpha = 0, double gamma = 0) {
  const auto hosts = star(ranks, link(0, 1e12));  // a byte per picosecond
  const Rounds rounds =
      rounds_of(find_algorithm(collective, {}), ranks, {.servers = 1, .groups = 1}, CollectiveOp::AllReduce, {});
  MessageNetwork network({std::make_shared<RoutedRounds>(rounds, *hosts, alpha)}, hosts->links(), gamma,
                         each_alone(ranks));
  Meeting meeting{bytes, {}};
  for (const std::int64_t start : starts) meeting.parties.push_back(Time(start));
  return ends_of(network, {meeting})[0];
}

constexpr double picosecond = 1e-12;

}  // namespace

TEST_CASE("a ring whose last rank is late ends as if all had been") {
  // Two slices of 100 B, each sent once to be reduced and once back: 2 × 100 ps when both start at 0. Rank 0's slice
  // arrives at rank 1 at 100, and waits for it. Rank 1 starts at 250: its own slice arrives at 350, and after it the
  // sum of the other at 450; rank 0 sends the sum of the former back from 350 to 450.
  CHECK(end_of("ring", 2, 200, {0, 0}) == Time(200));
  CHECK(end_of("ring", 2, 200, {0, 250}) == Time(450));
  CHECK(end_of("ring", 2, 200, {0, 50}) == Time(250));
  // Start-ups of 1000, which do not wait for each other: both of rank 1's begin at 1500; its own slice moves from 2500
  // to 2600, the sum until 2700; the last way back takes until 2600 + 1100.
  CHECK(end_of("ring", 2, 200, {0, 1500}, 1000 * picosecond) == Time(3700));
  // Its slice makes one round to be summed and one to be distributed: whichever rank is late, 2(N−1) slices follow.
  for (const Rank ranks : {3U, 8U, 13U})
    for (Rank late = 0; late < ranks; ++late) {
      std::vector<std::int64_t> starts(ranks, 0);
      starts[late] = 100'000;
      CHECK(end_of("ring", ranks, 100 * ranks, starts) == Time(100'000 + 100 * 2 * (ranks - 1)));
    }
}

TEST_CASE("a tree with a late leaf has finished its earlier rounds before") {
  // A binomial tree of 4: 1 → 0 and 3 → 2, then 2 → 0; back 0 → 2, then 0 → 1 and 2 → 3: 4 × 100 ps together. With rank
  // 1 late, rank 2 has its sum by 100, but rank 0 takes it behind rank 1's bytes: these come until 600, the sum until
  // 700, and the two steps back until 900.
  CHECK(end_of("binary-tree", 4, 100, {0, 0, 0, 0}) == Time(400));
  CHECK(end_of("binary-tree", 4, 100, {0, 500, 0, 0}) == Time(900));
  // Rank 3 is farther: 3 → 2, 2 → 0, and back.
  CHECK(end_of("binary-tree", 4, 100, {0, 0, 0, 500}) == Time(900));
}

TEST_CASE("messages to a rank that has not started are reduced when it starts") {
  // At 0.5 ps/B. Rank 1's bytes are at the root at 100, and reduced from its start, 250, to 300; the sum is back at
  // 400.
  CHECK(end_of("binary-tree", 2, 100, {250, 0}, 0, 0.5 * picosecond) == Time(400));
  // The ring of above: rank 0's slice is reduced from 250 to 300, and its sum goes behind rank 1's own slice, from 350
  // to 450; that slice is reduced until 400, and its sum is back at 500.
  CHECK(end_of("ring", 2, 200, {0, 250}, 0, 0.5 * picosecond) == Time(500));
}

TEST_CASE("with per-rank starts rounds are sent one after another") {
  // Recursive doubling among 4: pairs (0 1) and (2 3) exchange 100 B, then (0 2) and (1 3). Rank 0 is late, and the
  // message that rank 2 sent to it in the second round waits like the first: both of rank 0's messages could start at
  // 500, but the first, for which rank 1 waits, has the link for itself until 600; rank 1's second message reaches rank
  // 3 at 700. At half of the speed each, rank 1 would have had the first at 700.
  CHECK(end_of("recursive-doubling", 4, 100, {500, 0, 0, 0}) == Time(700));
}

TEST_CASE("with fair sharing, messages queued at a late rank would delay all") {
  // Seven of eight slices are at the late rank when it starts: with its own, eight share its link, arrive together, and
  // share the next one's. In order, 14 slices of 125 kB follow its start: 1.75 us at a byte per picosecond.
  const auto hosts = star(8, link(0, 1e12));
  const Rounds rounds = rounds_of(find_algorithm("ring", {}), 8, {.groups = 1}, CollectiveOp::AllReduce, {});
  for (const bool in_order : {true, false}) {
    NaiveNetwork naive(*hosts, 0, 0);
    std::vector<double> starts(8, 0);
    starts[3] = 1e9;
    naive.start(rounds, 1e6, starts, in_order ? InOrder::OutAndIn : InOrder::Nothing);
    CHECK(naive.run()[0] - 1e9 == Approx(in_order ? 1.75e6 : 6 * 1.75e6));
  }
}

TEST_CASE("a collective ends when its last rank has started") {
  // Rank 1 only receives, from 0 to 100; and of nothing there is nothing to wait for.
  const auto hosts = star(2, link(0, 1e12));
  const Rounds rounds = rounds_of(find_algorithm("broadcast", {}), 2, {}, CollectiveOp::AllReduce, {});
  MessageNetwork network({std::make_shared<RoutedRounds>(rounds, *hosts, 0)}, hosts->links(), 0, each_alone(2));
  CHECK(
      ends_of(network, {{100, {Time(0), Time(30)}}, {100, {Time(1000), Time(1700)}}, {0, {Time(2000), Time(2500)}}}) ==
      std::vector<Time>{Time(100), Time(1700), Time(2500)});
}

namespace {

// Records its notifications; a task takes 100 from its last party on.
class Recorder final : public Server {
 public:
  explicit Recorder(std::size_t parties) : parties_(parties) {}
  void start(TaskId id, const Task& /*task*/, Time now) override { note("start", id, 0, now); }
  void join(TaskId id, std::uint32_t party, Time now) override {
    note("join", id, party, now);
    if (++joined_[id] == parties_) ends_.emplace_back(now + Time(100), id);
  }
  Time next_completion() const override { return ends_.empty() ? never : ends_.front().first; }
  void complete(Time now, std::vector<TaskId>& done) override {
    for (; !ends_.empty() && ends_.front().first == now; ends_.erase(ends_.begin()))
      done.push_back(ends_.front().second);
  }
  std::vector<std::string> notes;

 private:
  void note(const char* what, TaskId id, std::uint32_t party, Time now) {
    notes.push_back(std::string(what) + " " + std::to_string(id) + "." + std::to_string(party) + " at " +
                    std::to_string(now.count()));
  }
  std::size_t parties_;
  std::map<TaskId, std::size_t> joined_;
  std::vector<std::pair<Time, TaskId>> ends_;
};

}  // namespace

TEST_CASE("a network is notified of parties from the start of their task on") {
  // Two tasks, one at a time, each of three parties. Those of task 0 arrive at 10, 10 and 30, those of task 1 at 20,
  // 130 and 140: it starts when task 0 has ended, at 130, with two of them.
  const std::vector<std::vector<std::int64_t>> at{{10, 10, 30}, {20, 130, 140}};
  TaskGraph graph;
  std::vector<Stream> streams(6);
  System system;
  for (std::uint32_t i = 0; i < 6; ++i) {
    system.queues.push_back({"work", {}, i});
    system.servers.push_back({&streams[i], Phase::Compute});
  }
  system.queues.push_back({"arrivals", {.window = {.count = Window::unlimited}}, 6});
  system.queues.push_back({"lane", {}, 6});
  std::vector<TaskId> tasks;
  for (std::int64_t i = 0; i < 2; ++i) tasks.push_back(graph.add({.queue = 7, .position = i}));
  std::map<TaskId, Rendezvous::Arrival> arrivals;
  for (std::uint32_t i = 0; i < 6; ++i) {
    const TaskId work = graph.add({.queue = i, .duration = Time(at[i / 3][i % 3])});
    const TaskId arrival = graph.add({.queue = 6, .position = i});
    graph.precede(work, arrival);
    graph.precede(arrival, tasks[i / 3]);
    arrivals[arrival] = {tasks[i / 3], i % 3};
  }
  for (const TaskId one : tasks) graph.wait_for_any(one);
  graph.link();
  auto recorder = std::make_unique<Recorder>(3);
  const std::vector<std::string>& notes = recorder->notes;
  Rendezvous network(std::move(recorder), [&](TaskId id) {
    const auto found = arrivals.find(id);
    return found == arrivals.end() ? std::nullopt : std::optional(found->second);
  });
  system.servers.push_back({&network, Phase::Communication});
  const Timeline timeline = replay(graph, system);
  CHECK(notes == std::vector<std::string>{"start 0.0 at 10", "join 0.0 at 10", "join 0.1 at 10", "join 0.2 at 30",
                                          "start 1.0 at 130", "join 1.0 at 130", "join 1.1 at 130", "join 1.2 at 140"});
  CHECK(timeline.spans[tasks[0]].end == Time(130));
  CHECK(timeline.spans[tasks[1]].ready == Time(20));
  CHECK(timeline.spans[tasks[1]].end == Time(240));
}

TEST_CASE("per-rank starts agree with the naive simulator") {
  struct Network {
    std::string name;
    std::unique_ptr<Topology> topology;
    std::int64_t workers;
  };
  std::vector<Network> networks;
  const LinkSpec links = link(0.7e-9, 1e11);
  networks.push_back({"star", star(8, links), 8});
  networks.push_back({"star", star(5, links), 5});
  networks.push_back({"fat-tree", fat_tree(4, 8, links), 8});
  networks.push_back({"bcube", bcube(2, 3, 8, links), 8});
  networks.push_back({"leaf-spine", leaf_spine(2, 4, 3, 1.7, links), 8});
  std::uint64_t seed = 0;
  for (const Network& network : networks)
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.in_switches) continue;  // no messages between ranks
      // Their times on a star are in fidelities_test.cpp; here each row moves the numbers that are drawn for the next.
      if (algorithm.name == "pat" || algorithm.name == "all-to-all" || algorithm.name == "chain") continue;
      CollectiveOptions options{.servers = 3, .chunks = 3};
      if (network.name == "bcube") options.levels = 3;
      if (network.workers % 2 == 0) options.groups = 2;
      Rounds rounds;
      try {
        rounds = rounds_of(algorithm, network.workers, options, CollectiveOp::AllReduce, {"test", ""});
      } catch (const InputError&) {
        continue;
      }
      for (const std::size_t count : {1, 1, 2, 2}) {
        Random random(seed++, 7);
        const double alpha = 1.9e-9, gamma = seed % 2 == 0 || network.name == "bcube" ? 0 : 1.7e-12;
        // Each rank separately, or shuffled into up to three parties. In parties, as over the equal ports of a BCube,
        // messages reach a rank simultaneously, and rounding would decide which of them is reduced first.
        Parties parties = each_alone(rounds.ranks);
        if (gamma == 0) {
          parties.assign(1 + random.below(3), {});
          for (Rank rank = 0; rank < rounds.ranks; ++rank)
            parties[rank < parties.size() ? rank : random.below(parties.size())].push_back(rank);
        }
        INFO(algorithm.name << " on " << network.name << " of " << network.workers << ", " << count << " together, "
                            << parties.size() << " parties, seed " << seed);
        NaiveNetwork naive(*network.topology, alpha, gamma);
        std::vector<Meeting> meetings;
        for (std::size_t i = 0; i < count; ++i) {
          Meeting meeting{static_cast<std::int64_t>(1 + random.below(200'000)), {}};
          std::vector<double> starts(rounds.ranks);
          for (const std::vector<Rank>& party : parties) {
            meeting.parties.push_back(Time(static_cast<std::int64_t>(random.below(3'000'000))));
            for (const Rank rank : party) starts[rank] = static_cast<double>(meeting.parties.back().count());
          }
          naive.start(rounds, static_cast<double>(meeting.bytes), starts);
          meetings.push_back(std::move(meeting));
        }
        const std::vector<double> expected = naive.run();
        MessageNetwork fast({std::make_shared<RoutedRounds>(rounds, *network.topology, alpha)},
                            network.topology->links(), gamma, parties);
        const std::vector<Time> found = ends_of(fast, meetings);
        // Rounding of ends, and of the order of reductions, adds up along the longest chain.
        for (std::size_t i = 0; i < count; ++i)
          CHECK(std::abs(static_cast<double>(found[i].count()) - expected[i]) <=
                2.0 * static_cast<double>(rounds.length() * static_cast<std::int64_t>(count)) + 2);
      }
    }
}
