// A continuous clock, compared with one long graph in which every replay is written out.
#include "sim/replay/engine/cycles.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>

#include "tests/catch.hpp"

#include "sim/base/core/random.hpp"

using namespace allreplay;

namespace {

// Continues for the given number of replays of each cycle, and records all notifications.
class Notes final : public Observer {
 public:
  explicit Notes(std::vector<std::int64_t> replays)
      : replays_(std::move(replays)), spans(replays_.size()), passes(replays_.size()) {}

  bool should_continue(std::size_t cycle, std::int64_t replay) override { return replay < replays_[cycle]; }
  void begins(std::size_t cycle, std::int64_t replay, std::span<Task> tasks) override {
    if (change_durations && replay >= 0)
      for (Task& task : tasks) task.duration += Time(static_cast<std::int64_t>(cycle) + replay % 3);
  }
  void passed(std::size_t cycle, std::int64_t, Time now) override { passes[cycle].push_back(now); }
  void ended(std::size_t cycle, std::int64_t, std::span<const Span> of_replay) override {
    spans[cycle].insert(spans[cycle].end(), of_replay.begin(), of_replay.end());
  }
  bool enough(Time, const State& state) override {
    if (until_repeat && !passes[0].empty() && passes[0].size() > seen) {
      seen = passes[0].size();
      repeated = std::find(states.begin(), states.end(), state()) != states.end();
      states.push_back(state());
    }
    return repeated;
  }

 private:
  std::vector<std::int64_t> replays_;

 public:
  bool change_durations = false, until_repeat = false, repeated = false;
  std::size_t seen = 0;
  std::vector<std::vector<std::int64_t>> states;
  std::vector<std::vector<Span>> spans;  // by cycle, one replay after another
  std::vector<std::vector<Time>> passes;
};

// Tasks in random order of precedence: worker chains on streams (queues `first` and on), blocks on a lane (the last).
struct Drawn {
  std::vector<Task> tasks;
  std::vector<std::pair<TaskId, TaskId>> edges;
  std::vector<Carried> carried;
  QueueId lane = 0;
  std::int64_t blocks = 0;
};

Drawn draw(Random& random, QueueId first, QueueId streams, QueueId lane) {
  Drawn drawn;
  const auto works = static_cast<TaskId>(2 + random.below(4)), blocks = static_cast<TaskId>(random.below(4));
  drawn.lane = lane;
  drawn.blocks = blocks;
  for (QueueId stream = 0; stream < streams; ++stream)
    for (TaskId work = 0; work < works; ++work) {
      const auto id = static_cast<TaskId>(drawn.tasks.size());
      drawn.tasks.push_back({first + stream, work, 0, 0, Time(static_cast<std::int64_t>(random.below(6)))});
      if (work > 0) drawn.edges.push_back({id - 1, id});
    }
  std::vector<TaskId> made;  // in the order of the list, so that lanes that go as listed end
  for (TaskId block = 0; block < blocks; ++block) made.push_back(static_cast<TaskId>(random.below(works - 1)));
  std::sort(made.begin(), made.end());
  for (TaskId block = 0; block < blocks; ++block) {
    const auto id = static_cast<TaskId>(drawn.tasks.size());
    const TaskId from = made[block], to = static_cast<TaskId>(from + 1 + random.below(works - 1 - from));
    drawn.tasks.push_back({lane, block, static_cast<std::int64_t>(random.below(3)),
                           1 + static_cast<std::int64_t>(random.below(3)),
                           Time(1 + static_cast<std::int64_t>(random.below(7)))});
    const bool of_next = random.below(3) == 0;  // the task that waits for it: then replays overlap on the lane
    for (QueueId stream = 0; stream < streams; ++stream) {
      drawn.edges.push_back({stream * works + from, id});
      if (of_next)
        drawn.carried.push_back({id, stream * works + to});
      else
        drawn.edges.push_back({id, stream * works + to});
    }
  }
  for (QueueId stream = 0; stream < streams; ++stream)
    drawn.carried.push_back({stream * works + works - 1, stream * works});
  return drawn;
}

TaskGraph graph_of(const Drawn& drawn) {
  TaskGraph graph;
  for (const Task& task : drawn.tasks) graph.add(task);
  for (const auto& [before, after] : drawn.edges) graph.precede(before, after);
  graph.link();
  return graph;
}

}  // namespace

TEST_CASE("repeated replays of a graph equal one long graph") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed, 7);
    const auto count = static_cast<std::size_t>(1 + random.below(3));
    const Order order = std::array{Order::FirstReady, Order::Priority, Order::AsListed}[random.below(3)];
    System system;
    std::deque<Stream> servers;
    std::vector<Cycle> cycles(count);
    std::vector<Drawn> drawn, openings;
    std::vector<std::int64_t> replays;
    for (std::size_t cycle = 0; cycle < count; ++cycle) {
      const auto streams = static_cast<QueueId>(1 + random.below(3));
      const auto first = static_cast<QueueId>(system.queues.size());
      for (QueueId i = 0; i <= streams; ++i) {
        servers.emplace_back();
        const bool lane = i == streams;
        system.queues.push_back({"", lane ? QueueRule{order, {.count = 1}} : QueueRule{},
                                 static_cast<std::uint32_t>(system.servers.size())});
        system.servers.push_back({&servers.back(), lane ? Phase::Communication : Phase::Compute});
      }
      drawn.push_back(draw(random, first, streams, first + streams));
      openings.emplace_back();
      if (random.below(2) == 0)
        for (QueueId stream = 0; stream < streams; ++stream)
          openings.back().tasks.push_back({first + stream, 0, 0, 0, Time(static_cast<std::int64_t>(random.below(9)))});
      Cycle& one = cycles[cycle];
      one.start = Time(static_cast<std::int64_t>(random.below(20)));
      one.graph = graph_of(drawn.back());
      one.carried = drawn.back().carried;
      one.opening = graph_of(openings.back());
      if (!openings.back().tasks.empty())
        for (QueueId stream = 0; stream < streams; ++stream)
          one.from_opening.push_back({stream, drawn.back().carried[stream].after});
      replays.push_back(static_cast<std::int64_t>(1 + random.below(5)));
    }

    // The same written out: a wait for the start, the opening, every replay.
    TaskGraph whole;
    std::vector<std::vector<TaskId>> mains(count);
    System long_system = system;
    std::deque<Stream> long_servers(servers.size());
    for (std::size_t i = 0; i < servers.size(); ++i) long_system.servers[i].server = &long_servers[i];
    std::deque<Stream> waits(count);
    for (std::size_t cycle = 0; cycle < count; ++cycle) {
      const auto queue = static_cast<QueueId>(long_system.queues.size());
      long_system.queues.push_back({"", {}, static_cast<std::uint32_t>(long_system.servers.size())});
      long_system.servers.push_back({&waits[cycle], Phase::Compute});
      const TaskId wait = whole.add({queue, 0, 0, 0, cycles[cycle].start});
      TaskId before = static_cast<TaskId>(whole.tasks().size());
      for (const Task& task : openings[cycle].tasks) whole.precede(wait, whole.add(task));
      std::vector<Carried> carried = cycles[cycle].from_opening;
      for (std::int64_t replay = 0; replay < replays[cycle]; ++replay) {
        const auto here = static_cast<TaskId>(whole.tasks().size());
        mains[cycle].push_back(here);
        for (Task task : drawn[cycle].tasks) {
          const bool first = replay == 0;
          const bool on_lane = task.queue == drawn[cycle].lane;  // where they go as listed, from 0 on
          task.position += on_lane ? replay * drawn[cycle].blocks : (1 + replay) * std::ssize(drawn[cycle].tasks);
          if (on_lane) task.priority += replay * 3;  // those of a replay before go before
          const TaskId id = whole.add(task);
          if (first) whole.precede(wait, id);
        }
        for (const auto& [from, to] : drawn[cycle].edges) whole.precede(here + from, here + to);
        for (const auto& [from, to] : carried) whole.precede(before + from, here + to);
        carried = drawn[cycle].carried;
        before = here;
      }
    }
    whole.link();
    const Timeline expected = replay(whole, long_system);

    Notes notes(replays);
    replay_cycles(cycles, system, notes);
    INFO("seed " << seed);
    for (std::size_t cycle = 0; cycle < count; ++cycle) {
      std::vector<Span> spans(notes.spans[cycle].begin() + static_cast<std::ptrdiff_t>(openings[cycle].tasks.size()),
                              notes.spans[cycle].end());
      REQUIRE(spans.size() == drawn[cycle].tasks.size() * mains[cycle].size());
      for (std::size_t i = 0; i < spans.size(); ++i) {
        const Span& other = expected.spans[mains[cycle][i / drawn[cycle].tasks.size()] + i % drawn[cycle].tasks.size()];
        REQUIRE(spans[i].start == other.start);
        REQUIRE(spans[i].end == other.end);
      }
      // A cycle moves on to its next replay when the last task with a carried edge has ended.
      REQUIRE(notes.passes[cycle].size() == mains[cycle].size() + 1);
      for (std::size_t replay = 0; replay < mains[cycle].size(); ++replay) {
        Time last{0};
        for (const Carried& one : drawn[cycle].carried)
          last = std::max(last, expected.spans[mains[cycle][replay] + one.before].end);
        REQUIRE(notes.passes[cycle][replay + 1] == last);
      }
    }
  }
}

TEST_CASE("a repeated state is found, and slowed or paused tasks are exact") {
  // One worker of 5, followed by a block of 3 that the next replay waits for: it repeats immediately.
  System system;
  Stream worker, lane;
  system.queues = {{"worker", {}, 0}, {"lane", {}, 1}};
  system.servers = {{&worker, Phase::Compute}, {&lane, Phase::Communication}};
  std::vector<Cycle> cycles(1);
  TaskGraph& graph = cycles[0].graph;
  graph.add({0, 0, 0, 0, Time(5)});
  graph.add({1, 0, 0, 0, Time(3)});
  graph.add({0, 1, 0, 0, Time(0)});
  graph.precede(0, 1);
  graph.precede(1, 2);
  graph.link();
  cycles[0].carried = {{2, 0}};
  Notes notes({1000});
  notes.until_repeat = true;
  replay_cycles(cycles, system, notes);
  CHECK(notes.repeated);
  CHECK(notes.passes[0] == std::vector<Time>{Time(0), Time(8), Time(16)});

  // From 7 on twice as long, from 13 to 18 not at all: 5 + 3, then 5 from 8 on take 10 without the stop, 15 with it.
  class Slowed final : public Observer {
   public:
    bool should_continue(std::size_t, std::int64_t replay) override { return replay < 2; }
    void ended(std::size_t, std::int64_t, std::span<const Span> spans) override { ends.push_back(spans[0].end); }
    Time next_change() const override { return next < 3 ? std::array{Time(7), Time(13), Time(18)}[next] : never; }
    std::vector<std::pair<std::uint32_t, double>> change(Time) override {
      constexpr double factors[] = {2, std::numeric_limits<double>::infinity(), 2};
      return {{0, factors[next++]}};
    }
    bool enough(Time, const State&) override { return false; }
    std::size_t next = 0;
    std::vector<Time> ends;
  } slowed;
  Stream fresh, other;
  system.servers = {{&fresh, Phase::Compute}, {&other, Phase::Communication}};
  replay_cycles(cycles, system, slowed);
  CHECK(slowed.ends == std::vector<Time>{Time(5), Time(23)});
}

TEST_CASE("durations may be set before a replay begins") {
  System system;
  Stream worker;
  system.queues = {{"worker", {}, 0}};
  system.servers = {{&worker, Phase::Compute}};
  std::vector<Cycle> cycles(1);
  cycles[0].graph.add({0, 0, 0, 0, Time(10)});
  cycles[0].graph.link();
  cycles[0].carried = {{0, 0}};
  Notes notes({4});
  notes.change_durations = true;  // by 0, 1, 2, 0
  replay_cycles(cycles, system, notes);
  CHECK(notes.passes[0] == std::vector<Time>{Time(0), Time(10), Time(21), Time(33), Time(43)});
}
