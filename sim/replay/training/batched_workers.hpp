// One server for many workers that run the same program with different times: adding up a chain of works needs no event
// queue. Its task is a work on all workers, which ends when the last one has done it; the others continue meanwhile.
#pragma once

#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "sim/replay/engine/server.hpp"

namespace allreplay {

/// REQUIRES: tasks 0 … places − 1 are the program in order, and start in that order, each when its predecessors have
/// ended. The order of works on a worker needs no edges.
class BatchedWorkers final : public Server {
 public:
  BatchedWorkers(std::size_t workers, std::size_t places)
      : workers_(workers), times_(workers * places), end_(workers, Time(0)) {}

  /// Returns by worker the time of a work, to be set before it starts.
  std::span<Time> times(TaskId place) { return std::span(times_).subspan(place * workers_, workers_); }

  /// Returns by worker the end of its last work.
  std::span<const Time> ends() const { return end_; }

  /// If set, called when a work starts, with its end by worker.
  std::function<void(TaskId place, std::span<const Time> ends)> served = nullptr;

  void start(TaskId place, const Task& task, Time now) override;
  Time next_completion() const override { return last_.empty() ? never : last_.top().first; }
  void complete(Time now, std::vector<TaskId>& done) override;
  /// Makes the total number of events equal to that of separate streams.
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
