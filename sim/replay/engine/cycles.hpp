// Replays graphs repeatedly, one iteration after another on a continuous clock; several graphs may share servers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "sim/replay/engine/replay.hpp"

namespace allreplay {

/// A task of one replay ends before a task of the next may start.
struct Carried {
  TaskId before, after;
};

/// A graph that is replayed repeatedly. REQUIRES: the graphs are linked, and refer to queues and calls of the System.
struct Cycle {
  Time start{0};
  TaskGraph opening;                  ///< replayed once, before `graph`; may be empty
  std::vector<Carried> from_opening;  ///< from the opening into the first replay of `graph`
  TaskGraph graph;                    ///< replayed repeatedly
  std::vector<Carried> carried;       ///< from one replay of `graph` into the next
};

/// Is notified of every event, and decides which cycles continue. The replays of a cycle are numbered from 0; its
/// opening is −1.
class Observer {
 public:
  virtual ~Observer() = default;

  /// True if the cycle shall have this replay.
  virtual bool should_continue(std::size_t cycle, std::int64_t replay) = 0;
  /// Called before any task of this replay starts. May change the durations of its tasks.
  virtual void begins(std::size_t /*cycle*/, std::int64_t /*replay*/, std::span<Task> /*tasks*/) {}
  /// Called once all tasks on which the next replay depends (Carried) have ended.
  virtual void passed(std::size_t /*cycle*/, std::int64_t /*replay*/, Time /*now*/) {}
  /// Called once all tasks of this replay have ended.
  virtual void ended(std::size_t /*cycle*/, std::int64_t /*replay*/, std::span<const Span> /*spans*/) {}

  /// The next instant at which change() shall be called; `never` if there is none.
  virtual Time next_change() const { return never; }
  /// Called after all completions of this instant, before networks choose. Returns the servers whose speed changes,
  /// each with its new slowdown factor, without the factors of influences.
  virtual std::vector<std::pair<std::uint32_t, double>> change(Time /*now*/) { return {}; }

  /// Returns everything on which the future depends, with times relative to now.
  using State = std::function<std::vector<std::int64_t>()>;
  /// Called once nothing more happens in this instant. Returns true to end the replay.
  virtual bool enough(Time now, const State& state) = 0;
};

/// Replays until the observer has seen enough or nothing more happens. Deterministic, like replay(). Returns the number
/// of events. Throws Stuck if a task of an unfinished replay can never start, and TimeOverflow.
std::int64_t replay_cycles(const std::vector<Cycle>& cycles, const System& system, Observer& observer);

}  // namespace allreplay
