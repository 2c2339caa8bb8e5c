// Servers carry out tasks: the interface, a Stream and a Clock. The servers of communication are in sim/network.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/replay/engine/task_graph.hpp"

namespace allreplay {

/// The load that a server imposes on the servers that it slows down (see Influence).
struct Load {
  std::int64_t in_flight = 0;  ///< tasks
  double rate = 0;             ///< bytes per second at which the tasks' bytes move
};

/// Serves the tasks that its queues hand to it, and tells when the next one ends. Has no clock of its own: the times
/// passed in never decrease. Any call may change next_completion().
class Server {
 public:
  virtual ~Server() = default;

  virtual void start(TaskId id, const Task& task, Time now) = 0;

  /// A party (ranks that become ready together) joins a task that has started. Only for servers of such tasks.
  virtual void join(TaskId /*id*/, std::uint32_t /*party*/, Time /*now*/) {}

  /// The next instant at which complete() should be called; `never` while there is nothing to wait for.
  virtual Time next_completion() const = 0;

  /// Appends to `done` the tasks that end at `now`, in a fixed order. There may be none.
  virtual void complete(Time now, std::vector<TaskId>& done) = 0;

  /// True if next_completion() is only a wake-up: nothing completes then, and the server has to be asked again.
  virtual bool wakeup_is_tentative() const { return false; }

  /// The current load. It changes only at instants returned by next_completion(), and with start().
  virtual Load load() const { return {}; }

  /// Selects tasks by their Task::call_id.
  using WhichCalls = std::function<bool(std::uint32_t call)>;
  /// The load of the selected tasks. REQUIRES: the server is a network's.
  virtual Load load_of(const WhichCalls& /*which*/) const {
    throw std::logic_error("a server that does not distinguish its tasks");
  }

  /// From `now` on, everything takes `factor` times as long as without a slowdown.
  virtual void slow(double /*factor*/, Time /*now*/) {}

  /// Appends to `state` everything about its tasks that the future depends on, relative to now. Two equal states have
  /// equal futures. `name` maps a task to a number that is the same in both.
  using TaskNames = std::function<std::int64_t(TaskId)>;
  virtual void describe(Time /*now*/, const TaskNames& /*name*/, std::vector<std::int64_t>& /*state*/) const {}

  /// The number of events inside the server that the engine does not see, such as messages of a collective.
  virtual std::int64_t events() const { return 0; }
};

/// Serves one task at a time, for its duration times the slowdown (may be infinite). REQUIRES: a window of one task.
class Stream final : public Server {
 public:
  void start(TaskId id, const Task& task, Time now) override {
    running_ = id;
    busy_ = true;
    left_ = static_cast<double>(task.duration.count());
    since_ = now;
    end_ = slowdown_ == 1 ? add(now, task.duration) : end();
  }
  Time next_completion() const override { return end_; }
  void complete(Time now, std::vector<TaskId>& done) override {
    if (now != end_) return;
    done.push_back(running_);
    busy_ = false;
    end_ = never;
  }
  // Exact for piecewise constant speeds: only the end is rounded, not the remaining work.
  void slow(double factor, Time now) override {
    if (busy_) {
      left_ -= static_cast<double>((now - since_).count()) / slowdown_;
      since_ = now;
    }
    slowdown_ = factor;
    if (busy_) end_ = end();
  }
  void describe(Time now, const TaskNames& name, std::vector<std::int64_t>& state) const override {
    if (!busy_) return state.push_back(-1);
    const double left = left_ - static_cast<double>((now - since_).count()) / slowdown_;
    state.insert(state.end(), {name(running_), from_picoseconds(std::max(0.0, left)).count()});
  }

 private:
  Time end() const {
    if (left_ <= 0) return since_;
    return std::isinf(slowdown_) ? never : add(since_, from_picoseconds(left_ * slowdown_));
  }

  TaskId running_ = 0;
  bool busy_ = false;
  double left_ = 0;  // remaining ps at full speed, as of `since_`
  Time since_{0};
  Time end_ = never;
  double slowdown_ = 1;
};

/// Ends a task at the next multiple of its duration after an origin, but not before multiple number `call_id`. Any
/// number of tasks may be in flight. Task::priority is the number of the origin: origin 0 is given to the constructor;
/// the others are set by the start of tasks without duration.
class Clock final : public Server {
 public:
  explicit Clock(Time origin = Time(0)) : origins_{origin} {}

  /// Moves origin 0 for tasks that start later; tasks in flight keep their ticks.
  void restart(Time origin) { origins_.front() = origin; }

  void start(TaskId id, const Task& task, Time now) override {
    const auto number = static_cast<std::size_t>(task.priority);
    if (number >= origins_.size()) origins_.resize(number + 1, now);
    if (task.duration == Time(0)) {
      origins_[number] = now;
      ticks_.push({now, id});
      return;
    }
    const Time origin = origins_[number], passed = std::max(Time(0), now - origin);
    const std::int64_t next = (passed + task.duration - Time(1)) / task.duration;
    ticks_.push({add(origin, multiplied(task.duration, std::max<std::int64_t>(next, task.call_id))), id});
  }
  Time next_completion() const override { return ticks_.empty() ? never : ticks_.top().first; }
  void complete(Time now, std::vector<TaskId>& done) override {
    for (; !ticks_.empty() && ticks_.top().first == now; ticks_.pop()) done.push_back(ticks_.top().second);
  }
  void describe(Time now, const TaskNames& name, std::vector<std::int64_t>& state) const override {
    for (const Time origin : origins_) state.push_back((origin - now).count());
    auto ticks = ticks_;
    for (; !ticks.empty(); ticks.pop())
      state.insert(state.end(), {name(ticks.top().second), (ticks.top().first - now).count()});
  }

 private:
  using Tick = std::pair<Time, TaskId>;
  std::vector<Time> origins_;
  std::priority_queue<Tick, std::vector<Tick>, std::greater<>> ticks_;
};

}  // namespace allreplay
