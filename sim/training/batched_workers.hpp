// Many workers that run one program, each with times of its own, as one server: no event queue is needed to add up a
// chain of works. What it serves is a work on all of them; that ends with the last, and meanwhile the others go on.
#pragma once

#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "sim/engine/server.hpp"

namespace allreplay {

/// REQUIRES: tasks 0 … places − 1 are the program, in its order, and start in that order, each when what it waits for
/// has ended: before a worker's work comes the worker's work before, which no edge has to say.
class BatchedWorkers final : public Server {
 public:
  BatchedWorkers(std::size_t workers, std::size_t places)
      : workers_(workers), times_(workers * places), end_(workers, Time(0)) {}

  /// How long each worker takes.
  std::span<Time> times(TaskId place) { return std::span(times_).subspan(place * workers_, workers_); }

  /// Where each worker's last work ends.
  std::span<const Time> ends() const { return end_; }

  /// Told of each work when it is served: where it ends, by worker.
  std::function<void(TaskId place, std::span<const Time> ends)> served = nullptr;

  void start(TaskId place, const Task& task, Time now) override;
  Time next_completion() const override { return last_.empty() ? never : last_.top().first; }
  void complete(Time now, std::vector<TaskId>& done) override;
  /// As many wake-ups as the workers' streams would have, one by one.
  std::int64_t events() const override { return works_ - wakes_; }

 private:
  using Ends = std::pair<Time, TaskId>;

  std::size_t workers_;
  std::vector<Time> times_;  // by place, then by worker
  std::vector<Time> end_;    // by worker
  std::priority_queue<Ends, std::vector<Ends>, std::greater<>> last_;
  std::int64_t works_ = 0, wakes_ = 0;
};

}  // namespace allreplay
