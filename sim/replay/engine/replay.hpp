// The event engine: replays a task graph on queues and servers, and returns the timeline of its tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/replay/engine/queue.hpp"
#include "sim/replay/engine/server.hpp"
#include "sim/replay/engine/task_graph.hpp"

namespace allreplay {

/// The order within an instant: communication is admitted after all compute tasks that end in this instant, so that
/// a network sees every gradient of the instant before it admits one. Token exchanges come between.
enum class Phase : std::uint8_t { Compute, Exchange, Communication };

struct ServerUse {
  Server* server = nullptr;  ///< not owned; idle, with no task in flight
  Phase phase = Phase::Compute;
};

struct QueueUse {
  std::string name;
  QueueRule rule;
  std::uint32_t server = 0;  ///< index into System::servers; several queues may share a server
};

/// The load of server `from` slows down the servers `on`: their tasks take slowdown(load) times as long. `load_of` may
/// select a part of the load. REQUIRES: each server is slowed by at most one influence.
struct Influence {
  std::uint32_t from = 0;
  std::vector<std::uint32_t> on;
  std::function<double(const Load& load)> slowdown;
  std::function<Load(const Server&)> load_of = [](const Server& server) { return server.load(); };
};

/// Queues and servers, by index. The queues of a server are asked in order, again from the first after an admission.
struct System {
  std::vector<QueueUse> queues;
  std::vector<ServerUse> servers;
  std::vector<Influence> influences;
};

/// The life of one task.
struct Span {
  Time ready = never;  ///< the predecessors that it waits for ended
  Time start = never;  ///< its queue admitted it
  Time end = never;
};

struct Timeline {
  std::vector<Span> spans;  ///< by TaskId
  std::int64_t events = 0;  ///< wake-ups of servers, and events inside them (Server::events)
};

/// Thrown if tasks wait for each other, or if a queue never admits a task.
class Stuck : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Replays `graph` from instant 0 until every task has ended. The result depends on nothing but the arguments:
/// simultaneous events are settled in any order before anything is chosen, and choices have a total order.
/// Throws Stuck with the name of a task that can never start, and TimeOverflow.
Timeline replay(const TaskGraph& graph, const System& system);

/// The total time covered by at least one of these intervals {start, end}, all at or after instant 0.
Time covered(std::vector<std::pair<Time, Time>> intervals);

}  // namespace allreplay
