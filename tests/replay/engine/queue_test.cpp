#include "sim/replay/engine/queue.hpp"

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
      queue.push(graph.add(task), task, task.position, Time(5));
    }
    graph.link();
  }
  TaskId pop() {
    const TaskId id = queue.next();
    queue.pop(graph.tasks()[id]);
    return id;
  }
};

}  // namespace

TEST_CASE("a window in bytes is open while less is in flight, so that the last may overshoot") {
  Waiting waiting({Order::FirstReady, {4, 100}}, {60, 500, 1});
  CHECK(waiting.queue.admits());
  CHECK(waiting.pop() == 0);
  CHECK(waiting.queue.admits());  // 60 are below 100
  CHECK(waiting.pop() == 1);
  CHECK_FALSE(waiting.queue.admits());  // 560 are not
  waiting.queue.completed(waiting.graph.tasks()[1]);
  CHECK(waiting.queue.admits());
}

TEST_CASE("a window that is just filled is closed") {
  Waiting waiting({Order::FirstReady, {4, 100}}, {100, 1});
  waiting.pop();
  CHECK_FALSE(waiting.queue.admits());
}

TEST_CASE("a window of tasks counts those in flight") {
  Waiting waiting({Order::FirstReady, {2}}, {1, 1, 1});
  waiting.pop();
  CHECK(waiting.queue.admits());
  waiting.pop();
  CHECK_FALSE(waiting.queue.admits());
  waiting.queue.completed(waiting.graph.tasks()[0]);
  CHECK(waiting.queue.admits());
}
