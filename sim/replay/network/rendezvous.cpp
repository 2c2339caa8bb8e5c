#include "sim/replay/network/rendezvous.hpp"

namespace allreplay {

void Rendezvous::start(TaskId id, const Task& task, Time now) {
  if (const auto arrival = arrival_(id)) {
    arrived_.push_back(id);
    arrived_at_ = now;
    Meeting& meeting = meetings_[arrival->task];
    if (meeting.started)
      network_->join(arrival->task, arrival->party, now);
    else
      meeting.waiting.push_back(arrival->party);
    return;
  }
  network_->start(id, task, now);
  Meeting& meeting = meetings_[id];
  meeting.started = true;
  for (const std::uint32_t party : meeting.waiting) network_->join(id, party, now);
}

void Rendezvous::complete(Time now, std::vector<TaskId>& done) {
  done.insert(done.end(), arrived_.begin(), arrived_.end());
  arrived_.clear();
  const std::size_t before = done.size();
  if (network_->next_completion() == now) network_->complete(now, done);
  for (std::size_t i = before; i < done.size(); ++i) meetings_.erase(done[i]);
}

}  // namespace allreplay
