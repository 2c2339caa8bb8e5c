#include "sim/network/alpha_beta.hpp"

#include <algorithm>
#include <cmath>

namespace allreplay {

// Start-ups overlap, so a block's bytes follow those admitted before it, or its own start-up, whichever is later:
// end = max(now + a, free) + b·M, with a + b·M rounded once.
void SerialChannel::start(TaskId id, const Task& task, Time now) {
  const CommCost& cost = costs_[task.service];
  free_ = std::max(add(now, cost(task.bytes)), add(free_, cost.transfer(task.bytes)));
  in_flight_.push_back({free_, id});
}

void SerialChannel::complete(Time now, std::vector<TaskId>& done) {
  while (!in_flight_.empty() && in_flight_.front().end == now) {
    done.push_back(in_flight_.front().id);
    in_flight_.pop_front();
  }
}

void FairChannel::start(TaskId id, const Task& task, Time now) {
  advance(now);
  const CommCost& cost = costs_[task.service];
  const Time alone = cost(task.bytes), transfer = cost.transfer(task.bytes);
  starting_.push({static_cast<double>(add(now, alone - transfer).count()), static_cast<double>(transfer.count()), id});
}

void FairChannel::advance(Time now) {
  if (!sharing_.empty())
    virtual_now_ += static_cast<double>((now - real_now_).count()) / static_cast<double>(sharing_.size());
  real_now_ = now;
}

Time FairChannel::next_end() const {
  if (sharing_.empty()) return never;
  const double left = std::max(0.0, sharing_.top().at - virtual_now_) * static_cast<double>(sharing_.size());
  return add(real_now_, Time(std::llround(left)));
}

Time FairChannel::next_completion() const {
  const Time joins = starting_.empty() ? never : Time(static_cast<std::int64_t>(starting_.top().at));
  return std::min(joins, next_end());
}

void FairChannel::complete(Time now, std::vector<TaskId>& done) {
  const bool ends = next_end() == now;  // before `advance` rounds the virtual time
  advance(now);
  if (ends) {
    const double end = sharing_.top().at;
    while (!sharing_.empty() && sharing_.top().at <= end) {
      done.push_back(sharing_.top().id);
      sharing_.pop();
    }
    virtual_now_ = sharing_.empty() ? 0 : end;
  }
  while (!starting_.empty() && starting_.top().at <= static_cast<double>(now.count())) {
    sharing_.push({virtual_now_ + starting_.top().work, starting_.top().work, starting_.top().id});
    starting_.pop();
  }
}

}  // namespace allreplay
