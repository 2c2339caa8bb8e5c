#include "sim/engine/queue.hpp"

#include "tests/catch.hpp"

using namespace allreplay;

namespace {

// Tasks of these bytes, ranked as listed, all pushed at time 5.
struct Waiting {
  TaskGraph graph;
  Queue queue;
  Waiting(const QueueRule& rule, const std::vector<std::int64_t>& bytes) : queue(rule) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const Task task{0, static_cast<std::int64_t>(i), 0, bytes[i], Time(1)};
      queue.push(graph.add(task), task, Time(5));
    }
    graph.link();
  }
};

}  // namespace

TEST_CASE("a window in bytes is full when the next would pass it, not when it would just be filled") {
  Waiting waiting({Order::FirstReady, {4, 100}}, {60, 40, 1});
  CHECK(waiting.queue.admits(waiting.graph, Time(5)));
  CHECK(waiting.queue.pop(waiting.graph) == 0);
  CHECK(waiting.queue.admits(waiting.graph, Time(5)));  // 60 + 40
  CHECK(waiting.queue.pop(waiting.graph) == 1);
  CHECK_FALSE(waiting.queue.admits(waiting.graph, Time(5)));  // and 1
  CHECK(waiting.queue.next_admission(waiting.graph, Time(5)) == never);
  waiting.queue.completed(waiting.graph.tasks()[1]);
  CHECK(waiting.queue.admits(waiting.graph, Time(5)));
}

TEST_CASE("what is larger than the window goes alone") {
  Waiting waiting({Order::FirstReady, {4, 100}}, {500, 1});
  CHECK(waiting.queue.admits(waiting.graph, Time(5)));
  waiting.queue.pop(waiting.graph);
  CHECK_FALSE(waiting.queue.admits(waiting.graph, Time(5)));
  waiting.queue.completed(waiting.graph.tasks()[0]);
  CHECK(waiting.queue.admits(waiting.graph, Time(5)));
}

TEST_CASE("a window of tasks counts what is in flight") {
  Waiting waiting({Order::FirstReady, {2}}, {1, 1, 1});
  waiting.queue.pop(waiting.graph);
  CHECK(waiting.queue.admits(waiting.graph, Time(5)));
  waiting.queue.pop(waiting.graph);
  CHECK_FALSE(waiting.queue.admits(waiting.graph, Time(5)));
  waiting.queue.completed(waiting.graph.tasks()[0]);
  CHECK(waiting.queue.admits(waiting.graph, Time(5)));
}

TEST_CASE("ticks count from the origin, and an instant on a tick is one") {
  Waiting waiting({Order::FirstReady, {}, Time(10), Time(7)}, {1});
  const auto next = [&](int now) { return waiting.queue.next_admission(waiting.graph, Time(now)); };
  CHECK(next(5) == Time(7));
  CHECK(next(7) == Time(7));
  CHECK(next(8) == Time(17));
  CHECK(next(16) == Time(17));
  CHECK(next(17) == Time(17));
  CHECK(next(18) == Time(27));
  CHECK(waiting.queue.admits(waiting.graph, Time(17)));
  CHECK_FALSE(waiting.queue.admits(waiting.graph, Time(16)));
}
