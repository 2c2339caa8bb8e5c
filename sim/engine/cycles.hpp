// A clock that goes on: graphs that are replayed again and again, several of them on servers that they may share.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "sim/engine/replay.hpp"

namespace allreplay {

/// A task of one replay ends before a task of the next may start.
struct Carried {
  TaskId before, after;
};

/// One iteration after another. The graphs are linked, their queues and calls are the system's.
struct Cycle {
  Time start{0};
  TaskGraph opening;                  ///< replayed once, before all else; may be empty
  std::vector<Carried> from_opening;  ///< into the first replay of `graph`
  TaskGraph graph;                    ///< replayed again and again
  std::vector<Carried> carried;       ///< from one of its replays into the next
};

/// Who is told what happens, and decides what goes on. Replays of a cycle count from 0; the opening is −1.
class Observer {
 public:
  virtual ~Observer() = default;

  virtual bool goes_on(std::size_t cycle, std::int64_t replay) = 0;
  /// Before anything of this replay starts. How long its tasks take is as the graph says, or as it is set here.
  virtual void begins(std::size_t /*cycle*/, std::int64_t /*replay*/, std::span<Task> /*tasks*/) {}
  /// All that it carries into the next has ended.
  virtual void passed(std::size_t /*cycle*/, std::int64_t /*replay*/, Time /*now*/) {}
  /// All of it has ended.
  virtual void ended(std::size_t /*cycle*/, std::int64_t /*replay*/, std::span<const Span> /*spans*/) {}

  /// The next instant at which change() is called; `never` where there is none.
  virtual Time next_change() const { return never; }
  /// What changes from this instant on: after all that ends then, before networks choose. Gives the servers that have
  /// changed, each with how many times as long it takes all by itself.
  virtual std::vector<std::pair<std::uint32_t, double>> change(Time /*now*/) { return {}; }

  /// All on which the future depends, relative to now.
  using State = std::function<std::vector<std::int64_t>()>;
  /// Once nothing more happens in this instant: whether that was all.
  virtual bool enough(Time now, const State& state) = 0;
};

/// Replays until the observer has seen enough, or nothing happens any more. Deterministic, as replay() is. Returns the
/// events. Throws Stuck where what goes on cannot, and TimeOverflow.
std::int64_t replay_cycles(const std::vector<Cycle>& cycles, const System& system, Observer& observer);

}  // namespace allreplay
