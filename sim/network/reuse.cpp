#include "sim/network/reuse.hpp"

#include <stdexcept>

namespace allreplay {

void Reuse::start(TaskId id, const Task& task, Time now) {
  if (!alone_ && in_network_ == 0) {
    const Price price = price_(id, task);
    pricing_ += price.events;
    alone_ = Alone{id, task, now, add(now, price.time)};
    return;
  }
  if (alone_) {
    network_->start(alone_->id, alone_->task, alone_->start);
    in_network_ = 1;
    std::vector<TaskId> done;
    while (alone_->start < now && network_->next_completion() <= now)
      network_->complete(network_->next_completion(), done);
    if (!done.empty()) throw std::logic_error("a collective that is alone ended before its price was over");
    alone_.reset();
  }
  network_->start(id, task, now);
  ++in_network_;
}

void Reuse::complete(Time now, std::vector<TaskId>& done) {
  if (alone_) {
    if (alone_->end != now) return;
    done.push_back(alone_->id);
    alone_.reset();
    return;
  }
  const std::size_t before = done.size();
  network_->complete(now, done);
  in_network_ -= static_cast<std::int64_t>(done.size() - before);
}

}  // namespace allreplay
