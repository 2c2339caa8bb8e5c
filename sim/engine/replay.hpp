// The event engine: replays a task graph on resources and says what happened when.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/queue.hpp"
#include "sim/engine/server.hpp"
#include "sim/engine/task_graph.hpp"

namespace allreplay {

/// Whose turn it is within one instant. All work of an earlier phase that ends in this instant is settled before
/// a later phase chooses, so that a network sees every gradient of the instant before it admits one.
enum class Phase : std::uint8_t { Compute, Communication };

struct Resource {
  std::string name;
  QueueRule rule;
  Phase phase = Phase::Compute;
  Server* server = nullptr;  ///< not owned; idle, with no task in flight
};

/// What happened to one task.
struct Span {
  Time ready = never;  ///< its last predecessor ended
  Time start = never;  ///< its queue admitted it
  Time end = never;
};

struct Timeline {
  std::vector<Span> spans;  ///< by TaskId
  std::int64_t events = 0;  ///< resources woken, and what their servers count inside
};

/// Replays `graph` from instant 0 until every task has ended. The result depends on nothing but the arguments:
/// simultaneous events are settled in any order before anything is chosen, and choices have a total order.
/// Throws std::logic_error naming a task that can never start, and TimeOverflow.
Timeline replay(const TaskGraph& graph, std::span<const Resource> resources);

}  // namespace allreplay
