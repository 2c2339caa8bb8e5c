#include "sim/replay/engine/replay.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "tests/catch.hpp"

#include "sim/base/core/random.hpp"

using namespace allreplay;

namespace {

// A server that takes any number of tasks simultaneously, each for its duration.
class Parallel final : public Server {
 public:
  void start(TaskId id, const Task& task, Time now) override { running_.push_back({add(now, task.duration), id}); }
  Time next_completion() const override {
    Time next = never;
    for (const auto& [end, id] : running_) next = std::min(next, end);
    return next;
  }
  void complete(Time now, std::vector<TaskId>& done) override {
    for (const auto& [end, id] : running_)
      if (end == now) done.push_back(id);
    std::erase_if(running_, [&](const auto& one) { return one.first == now; });
  }

 private:
  std::vector<std::pair<Time, TaskId>> running_;
};

// A queue before a server of its own.
struct Use {
  std::string name;
  QueueRule rule;
  Phase phase;
  Server* server;
};

System system(const std::vector<Use>& uses) {
  System system;
  for (const Use& use : uses) {
    system.queues.push_back({use.name, use.rule, static_cast<std::uint32_t>(system.servers.size())});
    system.servers.push_back({use.server, use.phase});
  }
  return system;
}

Task task(QueueId queue, std::int64_t rank, int duration, std::int64_t priority = 0, std::int64_t bytes = 0) {
  return {queue, rank, priority, bytes, Time(duration)};
}

// Tasks 0, 1, 2 become ready at 1, 2, 3 (by one worker), then compete for the channel, which takes 10 for each.
struct Contest {
  TaskGraph graph;
  Stream worker, channel;
  std::vector<Time> starts(const QueueRule& rule, std::vector<std::int64_t> ranks,
                           std::vector<std::int64_t> priorities) {
    std::vector<TaskId> contenders;
    TaskId before = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const TaskId step = graph.add(task(0, static_cast<std::int64_t>(i), 1));
      if (i > 0) graph.precede(before, step);
      contenders.push_back(graph.add(task(1, ranks[i], 10, priorities[i])));
      graph.precede(step, contenders.back());
      before = step;
    }
    graph.link();
    const Timeline timeline = replay(
        graph, system({{"worker", {}, Phase::Compute, &worker}, {"channel", rule, Phase::Communication, &channel}}));
    std::vector<Time> starts;
    for (const TaskId id : contenders) starts.push_back(timeline.spans[id].start);
    return starts;
  }
};

using Times = std::vector<Time>;

}  // namespace

TEST_CASE("first ready: 1, 2, 3 start at 1, 11, 21") {
  CHECK(Contest().starts({Order::FirstReady}, {2, 1, 0}, {0, 0, 0}) == Times{Time(1), Time(11), Time(21)});
}

TEST_CASE("as listed: those that are listed first are waited for") {
  // Ranks 2, 1, 0: the last to be ready (at 3) goes first.
  CHECK(Contest().starts({Order::AsListed}, {2, 1, 0}, {0, 0, 0}) == Times{Time(23), Time(13), Time(3)});
}

TEST_CASE("priority: the smallest among the ready, without waiting for better ones") {
  // The first starts immediately, since no other is ready; at 11 the third (priority 0) beats the second (priority 5).
  CHECK(Contest().starts({Order::Priority}, {0, 1, 2}, {9, 5, 0}) == Times{Time(1), Time(21), Time(11)});
}

TEST_CASE("a clock ends its tasks at multiples after its origin, and an instant on one is one") {
  // Multiples of 10 after 7: 7, 17, 27, … Ready at 5, 7, 8 and 17; and at 8, but not before the third (7 is the 0th).
  TaskGraph graph;
  const std::vector<int> ready{5, 7, 8, 17, 8}, expected{7, 7, 17, 17, 37};
  std::vector<TaskId> ticks;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    const TaskId before = graph.add(task(static_cast<QueueId>(1 + i), 0, ready[i]));
    Task tick = task(0, static_cast<std::int64_t>(i), 10);
    tick.call_id = i == 4 ? 3 : 0;
    ticks.push_back(graph.add(tick));
    graph.precede(before, ticks.back());
  }
  graph.link();
  Clock clock(Time(7));
  std::vector<Stream> streams(ready.size());
  System all = system({{"clock", {Order::FirstReady, {Window::unlimited}}, Phase::Compute, &clock}});
  for (Stream& stream : streams) {
    all.servers.push_back({&stream, Phase::Compute});
    all.queues.push_back({"work", {}, static_cast<std::uint32_t>(all.servers.size() - 1)});
  }
  const Timeline timeline = replay(graph, all);
  for (std::size_t i = 0; i < ready.size(); ++i) CHECK(timeline.spans[ticks[i]].end == Time(expected[i]));
}

TEST_CASE("windows bound the bytes in flight, and the last to be admitted may overshoot") {
  TaskGraph graph;
  for (const std::int64_t bytes : {30, 40, 50, 200, 10})
    graph.add(task(0, static_cast<std::int64_t>(graph.tasks().size()), 10, 0, bytes));
  graph.link();
  Parallel server;
  const Timeline timeline =
      replay(graph, system({{"channel", {Order::AsListed, {Window::unlimited, 100}}, Phase::Communication, &server}}));
  // 30, 40 and 50 start immediately: 70 are below 100; when they end, at 10: 200 first, then nothing until 20, then 10.
  const std::vector<int> expected{0, 0, 0, 10, 20};
  for (TaskId id = 0; id < expected.size(); ++id) CHECK(timeline.spans[id].start == Time(expected[id]));
}

TEST_CASE("all work of an instant is settled before communication is chosen") {
  // A ends at 5 and makes a block of priority 1 ready; the zero-length B follows at 5 and makes one of priority 0
  // ready. Both are ready at 5, so the second starts first.
  TaskGraph graph;
  const TaskId a = graph.add(task(0, 0, 5)), b = graph.add(task(0, 1, 0));
  const TaskId late = graph.add(task(1, 0, 10, 1)), urgent = graph.add(task(1, 1, 10, 0));
  graph.precede(a, b);
  graph.precede(a, late);
  graph.precede(b, urgent);
  graph.link();
  Stream worker, channel;
  const Timeline timeline = replay(graph, system({{"worker", {}, Phase::Compute, &worker},
                                                  {"channel", {Order::Priority}, Phase::Communication, &channel}}));
  CHECK(timeline.spans[urgent].start == Time(5));
  CHECK(timeline.spans[late].start == Time(15));
}

TEST_CASE("queues before one server are asked in their order, the first again after every admission") {
  // Lanes 0 and 1 before one channel that takes any number, each lane one at a time. All are ready at 0. At 0 lane 0
  // starts its first (5), lane 1 its first (2); at 2 lane 1's second (2), at 4 its third; at 5 lane 0's second.
  TaskGraph graph;
  std::vector<TaskId> ids;
  for (std::int64_t i = 0; i < 2; ++i) ids.push_back(graph.add(task(0, i, 5)));
  for (std::int64_t i = 0; i < 3; ++i) ids.push_back(graph.add(task(1, i, 2)));
  graph.link();
  Parallel channel;
  const System two{{{"gather", {}, 0}, {"reduce", {}, 0}}, {{&channel, Phase::Communication}}, {}};
  const Timeline timeline = replay(graph, two);
  const std::vector<int> expected{0, 5, 0, 2, 4};
  for (std::size_t i = 0; i < ids.size(); ++i) CHECK(timeline.spans[ids[i]].start == Time(expected[i]));
}

TEST_CASE("simultaneous ends are settled before another lane is asked") {
  // One task at a time on the server (a Stream). Lane 0 holds `none` (no length), and behind it `after` (3); lane 1
  // holds `other` (2). At 0 `none` is admitted and ends; that makes `after` ready before `other` is chosen.
  TaskGraph graph;
  const TaskId none = graph.add(task(0, 0, 0)), after = graph.add(task(0, 1, 3)), other = graph.add(task(1, 0, 2));
  graph.precede(none, after);
  graph.link();
  Parallel channel;
  const System two{{{"gather", {}, 0}, {"reduce", {}, 0}}, {{&channel, Phase::Communication}}, {}};
  const Timeline timeline = replay(graph, two);
  CHECK(timeline.spans[after].ready == Time(0));
  CHECK(timeline.spans[after].start == Time(0));
  CHECK(timeline.spans[other].start == Time(0));
}

namespace {

// A channel that others feel while anything is on its way.
class Felt final : public Server {
 public:
  void start(TaskId id, const Task& task, Time now) override {
    id_ = id;
    end_ = now + task.duration;
  }
  Time next_completion() const override { return end_; }
  void complete(Time now, std::vector<TaskId>& done) override {
    if (now != end_) return;
    done.push_back(id_);
    end_ = never;
  }
  Load load() const override { return {end_ == never ? 0 : 1, 0}; }

 private:
  TaskId id_ = 0;
  Time end_ = never;
};

}  // namespace

TEST_CASE("a server slows another, exactly at piecewise constant speeds") {
  // Compute of 10, 20 and 7; a transfer of 9 starts when the first ends. From 10 on compute takes 1.5 times as long: by
  // 19 it has done 9 / 1.5 = 6 of 20; the 14 that are left end at 33. The last, undisturbed, at 40.
  TaskGraph graph;
  const TaskId a = graph.add(task(0, 0, 10)), b = graph.add(task(0, 1, 20)), c = graph.add(task(0, 2, 7));
  const TaskId sent = graph.add(task(1, 0, 9));
  graph.precede(a, b);
  graph.precede(b, c);
  graph.precede(a, sent);
  graph.link();
  Stream worker;
  Felt channel;
  System felt = system({{"worker", {}, Phase::Compute, &worker}, {"channel", {}, Phase::Communication, &channel}});
  felt.influences.push_back({1, {0}, [](const Load& load) { return load.in_flight > 0 ? 1.5 : 1.0; }});
  const Timeline timeline = replay(graph, felt);
  CHECK(timeline.spans[a].end == Time(10));
  CHECK(timeline.spans[sent].end == Time(19));
  CHECK(timeline.spans[b].end == Time(33));
  CHECK(timeline.spans[c].end == Time(40));
}

TEST_CASE("an end under a slow-down is rounded when it is reached, not at every change") {
  // 100 at 1.1 while each of ten transfers of 3 lasts, with pauses of 1 between them (they alternate with another
  // stream's tasks): of 40 in all 30 pass at 1/1.1. Done by 40: 30/1.1 + 10 = 37.2727; the rest at full speed: 62.7273,
  // which ends at 102.7273, rounded 103. Rounding every piece of 3/1.1 = 2.727 to 3 would end at 100.
  TaskGraph graph;
  const TaskId work = graph.add(task(0, 0, 100));
  TaskId before = 0;
  for (std::int64_t i = 0; i < 10; ++i) {
    const TaskId sent = graph.add(task(1, i, 3)), pause = graph.add(task(2, i, 1));
    if (i > 0) graph.precede(before, sent);
    graph.precede(sent, pause);
    before = pause;
  }
  graph.link();
  Stream worker, pauses;
  Felt channel;
  System felt = system({{"worker", {}, Phase::Compute, &worker},
                        {"channel", {}, Phase::Communication, &channel},
                        {"pauses", {}, Phase::Compute, &pauses}});
  felt.influences.push_back({1, {0}, [](const Load& load) { return load.in_flight > 0 ? 1.1 : 1.0; }});
  CHECK(replay(graph, felt).spans[work].end == Time(103));
}

TEST_CASE("a task that needs any of its predecessors starts with the first") {
  // Three of 5, 3 and 9 side by side; behind them one of 10 that needs all, or one; and behind that and the longest one
  // more, which always needs both.
  for (const bool one : {false, true}) {
    Parallel parallel;
    TaskGraph graph;
    std::vector<TaskId> before;
    for (const int duration : {5, 3, 9})
      before.push_back(graph.add(task(0, static_cast<std::int64_t>(before.size()), duration)));
    const TaskId next = graph.add(task(0, 3, 10)), last = graph.add(task(0, 4, 1));
    for (const TaskId id : before) graph.precede(id, next);
    graph.precede(next, last);
    graph.precede(before[2], last);
    if (one) graph.wait_for_any(next);
    graph.link();
    const Timeline timeline =
        replay(graph, system({{"all", {.window = {.count = Window::unlimited}}, Phase::Compute, &parallel}}));
    CHECK(timeline.spans[next].ready == Time(one ? 3 : 9));
    CHECK(timeline.spans[next].start == Time(one ? 3 : 9));
    CHECK(timeline.spans[last].start == Time(one ? 13 : 19));
  }
}

TEST_CASE("a task that can never start is an error") {
  TaskGraph graph;
  const TaskId a = graph.add(task(0, 0, 1)), b = graph.add(task(0, 1, 1));
  graph.precede(a, b);
  graph.precede(b, a);
  graph.link();
  Stream stream;
  CHECK_THROWS(replay(graph, system({{"farm", {}, Phase::Compute, &stream}})));
}

namespace {

// A random layered graph on `streams` workers and one channel, its queues numbered by `order`.
Timeline random_replay(std::uint64_t seed, const std::vector<QueueId>& order, std::int64_t window, TaskGraph& graph) {
  Random random(seed, 0);
  const std::size_t streams = order.size() - 1;
  std::vector<TaskId> last(streams);
  for (std::int64_t step = 0; step < 30; ++step) {
    std::vector<TaskId> made;
    for (std::size_t s = 0; s < streams; ++s) {
      const TaskId id = graph.add(task(order[s], step, static_cast<int>(random.below(4))));  // many ties, many zeros
      if (step > 0) graph.precede(last[s], id);
      made.push_back(last[s] = id);
    }
    const TaskId block = graph.add(
        task(order[streams], step, static_cast<int>(random.below(6)), static_cast<std::int64_t>(random.below(3))));
    for (const TaskId id : made) graph.precede(id, block);
  }
  graph.link();
  std::vector<Stream> workers(streams);
  Parallel channel;
  std::vector<Use> uses(order.size());
  for (std::size_t s = 0; s < streams; ++s) uses[order[s]] = {"worker", {}, Phase::Compute, &workers[s]};
  uses[order[streams]] = {"channel", {Order::Priority, {window}}, Phase::Communication, &channel};
  return replay(graph, system(uses));
}

}  // namespace

TEST_CASE("the order of simultaneous events changes nothing, and no server serves more than it may") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    // Simultaneous events are settled by server number: renumbering the servers shuffles them.
    std::vector<QueueId> order(5);
    std::iota(order.begin(), order.end(), 0u);
    const auto window = static_cast<std::int64_t>(1 + seed % 3);
    TaskGraph graph;
    const Timeline reference = random_replay(seed, order, window, graph);
    Random random(seed, 1);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    TaskGraph shuffled_graph;
    const Timeline shuffled = random_replay(seed, order, window, shuffled_graph);
    for (TaskId id = 0; id < graph.tasks().size(); ++id) {
      REQUIRE(reference.spans[id].start == shuffled.spans[id].start);
      REQUIRE(reference.spans[id].end == shuffled.spans[id].end);
      REQUIRE(reference.spans[id].ready <= reference.spans[id].start);
      for (const TaskId successor : graph.successors(id))
        REQUIRE(reference.spans[successor].start >= reference.spans[id].end);
      // At the instant a task starts, at most `limit` tasks of its queue are in flight (those that take no time
      // aside).
      const Task& one = graph.tasks()[id];
      std::int64_t in_flight = 0;
      for (TaskId other = 0; other < graph.tasks().size(); ++other)
        if (graph.tasks()[other].queue == one.queue && reference.spans[other].start <= reference.spans[id].start &&
            reference.spans[other].end > reference.spans[id].start)
          ++in_flight;
      REQUIRE(in_flight <= (one.queue == 4 ? window : 1));
    }
  }
}
