#include "sim/replay/network/reuse.hpp"

#include <stdexcept>

namespace allreplay {

void Reuse::start(TaskId id, const Task& task, Time now) {
  if (!alone_ && in_network_ == 0) {
    alone_ = Alone{.id = id, .task = task, .start = now};
    if (parties_ == 0) find_price(now);
    return;
  }
  if (alone_) hand_over(now);
  network_->start(id, task, now);
  ++in_network_;
}

void Reuse::join(TaskId id, std::uint32_t party, Time now) {
  if (!alone_) return network_->join(id, party, now);
  alone_->joined.push_back({party, now - alone_->start});
  if (alone_->joined.size() == parties_) find_price(now);
}

void Reuse::find_price(Time now) {
  const std::optional<Price> price = price_(alone_->task, alone_->joined);
  if (!price) return hand_over(now);
  pricing_ += price->events;
  alone_->end = add(alone_->start, price->time);
}

// Starts the postponed collective on the network after all, and lets the network catch up to `now`.
void Reuse::hand_over(Time now) {
  const Alone one = std::move(*alone_);
  alone_.reset();
  if (!network_) network_ = make_network_();
  std::vector<TaskId> none;  // stays empty: events left in an idle network are void
  while (network_->next_completion() < one.start) network_->complete(network_->next_completion(), none);
  network_->start(one.id, one.task, one.start);
  in_network_ = 1;
  Time reached = one.start;
  for (const Joined& joined : one.joined) {
    const Time at = one.start + joined.at;
    catch_up(reached, at);
    network_->join(one.id, joined.party, at);
    reached = at;
  }
  catch_up(reached, now);
}

// Lets the network go on until `to`; not if that is still the instant `from`, whose starts and joins come first.
void Reuse::catch_up(Time from, Time to) {
  std::vector<TaskId> done;
  while (from < to && network_->next_completion() <= to) network_->complete(network_->next_completion(), done);
  if (!done.empty()) throw std::logic_error("a collective that is alone ended before its price was over");
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
