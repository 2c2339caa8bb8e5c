// What serves tasks: a GPU stream, an alpha-beta channel, a network of flows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/engine/task_graph.hpp"

namespace allreplay {

/// What of a server others feel (Influence).
struct Load {
  std::int64_t in_flight = 0;  ///< tasks
  double rate = 0;             ///< bytes of tasks that move, per second
};

/// Serves the tasks that a queue hands to it, and says when the next one ends. Has no clock of its own: times
/// passed in never decrease. A server may change its mind about next_completion() whenever it is called.
class Server {
 public:
  virtual ~Server() = default;

  virtual void start(TaskId id, const Task& task, Time now) = 0;

  /// One of the parties of a task that has started joins it, where tasks start in parties.
  virtual void join(TaskId /*id*/, std::uint32_t /*party*/, Time /*now*/) {}

  /// The next instant at which complete() should be called; `never` while there is nothing to wait for.
  virtual Time next_completion() const = 0;

  /// Appends to `done` what ends at `now`, in a fixed order; possibly nothing (an instant may only mark progress).
  virtual void complete(Time now, std::vector<TaskId>& done) = 0;

  /// At next_completion() nothing happens: so far the server has looked ahead, and wants to be asked again.
  virtual bool wakeup_is_tentative() const { return false; }

  /// It changes only at instants that next_completion() has named, and with start().
  virtual Load load() const { return {}; }

  /// Of tasks, by what they ask for (Task::call_id).
  using WhichCalls = std::function<bool(std::uint32_t call)>;
  /// The same of some of its tasks. REQUIRES: the server is a network's.
  virtual Load load_of(const WhichCalls& /*which*/) const {
    throw std::logic_error("a server that does not tell its tasks apart");
  }

  /// From `now` on, all that it does takes `factor` times as long as when nobody slows it.
  virtual void slow(double /*factor*/, Time /*now*/) {}

  /// What of the tasks that it has the future depends on, relative to now, each under its name. Equal where all that
  /// follows is equal.
  using TaskNames = std::function<std::int64_t(TaskId)>;
  virtual void describe(Time /*now*/, const TaskNames& /*name*/, std::vector<std::int64_t>& /*state*/) const {}

  /// Events inside the server that the engine does not see: messages of a collective, for example.
  virtual std::int64_t events() const { return 0; }
};

/// One task at a time, for as long as the task says, or longer while it is slowed; for ever while it stands still.
/// REQUIRES: a window of one task.
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
  // Exact at piecewise constant speeds: what is left is not rounded, only the end is.
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
  double left_ = 0;  // ps, at full speed, when `since_` was
  Time since_{0};
  Time end_ = never;
  double slowdown_ = 1;
};

/// Ends its tasks at multiples of their duration after an origin, from the one on whose number is their call_id. Any
/// number may be in flight. Origins have numbers (Task::priority): that of 0 is given, the others are the instants at
/// which tasks without duration start.
class Clock final : public Server {
 public:
  explicit Clock(Time origin = Time(0)) : origins_{origin} {}

  /// From now on; what waits for a tick of before waits on.
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
