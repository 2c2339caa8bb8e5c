#include "sim/replay/training/batched_workers.hpp"

#include <algorithm>

namespace allreplay {

void BatchedWorkers::start(TaskId place, const Task& /*task*/, Time now) {
  const std::span<const Time> takes = times(place);
  Time last = now;
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    end_[worker] = add(std::max(end_[worker], now), takes[worker]);
    last = std::max(last, end_[worker]);
  }
  last_.emplace(last, place);
  works_ += static_cast<std::int64_t>(workers_);
  if (served) served(place, end_);
}

void BatchedWorkers::complete(Time now, std::vector<TaskId>& done) {
  ++wakes_;
  for (; !last_.empty() && last_.top().first == now; last_.pop()) done.push_back(last_.top().second);
}

}  // namespace allreplay
