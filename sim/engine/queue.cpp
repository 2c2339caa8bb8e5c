#include "sim/engine/queue.hpp"

#include <algorithm>
#include <functional>

namespace allreplay {

void Queue::push(TaskId id, const Task& task, Time now) {
  const std::int64_t key = rule_.order == Order::FirstReady ? now.count()
                           : rule_.order == Order::Priority ? task.priority
                                                            : task.rank;
  ready_.push_back({key, task.rank, id});
  std::push_heap(ready_.begin(), ready_.end(), std::greater<>());
}

Time Queue::next_admission(const TaskGraph& graph, Time now) const {
  if (ready_.empty() || tasks_in_flight_ >= rule_.window.count) return never;
  const Entry& next = ready_.front();
  if (rule_.order == Order::AsListed && next.rank != next_rank_) return never;
  if (tasks_in_flight_ > 0 && graph.tasks()[next.id].bytes > rule_.window.bytes - bytes_in_flight_) return never;
  if (rule_.tick <= Time(0)) return now;
  if (now <= rule_.origin) return rule_.origin;
  const Time past = (now - rule_.origin) % rule_.tick;
  return past == Time(0) ? now : add(now, rule_.tick - past);
}

TaskId Queue::pop(const TaskGraph& graph) {
  std::pop_heap(ready_.begin(), ready_.end(), std::greater<>());
  const TaskId id = ready_.back().id;
  ready_.pop_back();
  ++next_rank_;
  ++tasks_in_flight_;
  bytes_in_flight_ += graph.tasks()[id].bytes;
  return id;
}

}  // namespace allreplay
