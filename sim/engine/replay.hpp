// The event engine: replays a task graph on queues and servers and says what happened when.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/queue.hpp"
#include "sim/engine/server.hpp"
#include "sim/engine/task_graph.hpp"

namespace allreplay {

/// Whose turn it is within one instant. All work of an earlier phase that ends in this instant is settled before
/// a later phase chooses, so that a network sees every gradient of the instant before it admits one.
enum class Phase : std::uint8_t { Compute, Communication };

struct ServerUse {
  Server* server = nullptr;  ///< not owned; idle, with no task in flight
  Phase phase = Phase::Compute;
};

struct QueueUse {
  std::string name;
  QueueRule rule;
  std::uint32_t server = 0;  ///< of System::servers; several queues may stand before one
};

/// What a server does slows others: while `from` carries `load`, those of `on` take slowdown(load) times as long. What
/// they feel may be a part of it: then `load_of` says of how much. REQUIRES: nobody is slowed by two.
struct Influence {
  std::uint32_t from = 0;
  std::vector<std::uint32_t> on;
  std::function<double(const Load& load)> slowdown;
  std::function<Load(const Server&)> load_of = [](const Server& server) { return server.load(); };
};

/// By number; a task names its queue (Task::queue). Queues before one server are asked in their order, the first again
/// after every admission.
struct System {
  std::vector<QueueUse> queues;
  std::vector<ServerUse> servers;
  std::vector<Influence> influences;
};

/// What happened to one task.
struct Span {
  Time ready = never;  ///< its last predecessor ended, or the one that it needs
  Time start = never;  ///< its queue admitted it
  Time end = never;
};

struct Timeline {
  std::vector<Span> spans;  ///< by TaskId
  std::int64_t events = 0;  ///< servers woken, and what they count inside
};

/// Tasks that wait for each other, or that their queue never admits.
class Stuck : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Replays `graph` from instant 0 until every task has ended. The result depends on nothing but the arguments:
/// simultaneous events are settled in any order before anything is chosen, and choices have a total order.
/// Throws Stuck naming a task that can never start, and TimeOverflow.
Timeline replay(const TaskGraph& graph, const System& system);

/// For how long any of these lasts, each from its first instant to its second.
Time covered(std::vector<std::pair<Time, Time>> intervals);

}  // namespace allreplay
