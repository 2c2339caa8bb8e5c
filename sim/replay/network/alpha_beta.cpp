#include "sim/replay/network/alpha_beta.hpp"

#include <algorithm>
#include <cmath>

namespace allreplay {

namespace {

// The channels of a task; none without bytes.
Channels channels_of(const ChannelCost& cost, const Task& task) { return task.bytes > 0 ? cost.channels : Channels{0}; }

double rate_of(const Task& task, Time transfer) { return transfer > Time(0) ? task.bytes / to_seconds(transfer) : 0; }

}  // namespace

// Start-ups overlap, so a block's bytes move after those admitted before it and after its own start-up:
// end = max(now + a, free) + b·M, with a + b·M rounded once.
void SerialChannel::start(TaskId id, const Task& task, Time now) {
  const ChannelCost& cost = costs_[task.call_id];
  const Channels channels = channels_of(cost, task);
  const auto used = [&](std::size_t channel) { return (channels >> channel & 1U) != 0; };
  Time free{0};
  for (std::size_t channel = 0; channel < free_.size(); ++channel)
    if (used(channel)) free = std::max(free, free_[channel]);
  const auto [alone, transfer] = cost.cost.both(task.bytes);
  const Time end = std::max(add(now, alone), add(free, transfer));
  for (std::size_t channel = 0; channel < free_.size(); ++channel)
    if (used(channel)) free_[channel] = end;
  const Transfer added{end, id, end - transfer, rates_ ? rate_of(task, transfer) : 0};
  auto place = in_flight_.end();
  while (place != in_flight_.begin() && std::prev(place)->end > end) --place;
  if (place == in_flight_.end())
    in_flight_.push_back(added);  // insert() would put it at the front of an empty deque, and allocate
  else
    in_flight_.insert(place, added);
  now_ = now;
}

Time SerialChannel::next_completion() const {
  Time next = in_flight_.empty() ? never : in_flight_.front().end;
  if (rates_)
    for (const Transfer& one : in_flight_)
      if (one.moves_at > now_) next = std::min(next, one.moves_at);
  return next;
}

Load SerialChannel::load() const {
  Load load{static_cast<std::int64_t>(in_flight_.size()), 0};
  for (const Transfer& one : in_flight_)
    if (one.moves_at <= now_) load.rate += one.rate;
  return load;
}

void SerialChannel::complete(Time now, std::vector<TaskId>& done) {
  now_ = now;
  while (!in_flight_.empty() && in_flight_.front().end == now) {
    done.push_back(in_flight_.front().id);
    in_flight_.pop_front();
  }
}

void FairChannel::start(TaskId id, const Task& task, Time now) {
  advance(now);
  const ChannelCost& price = costs_[task.call_id];
  const auto [alone, transfer] = price.cost.both(task.bytes);
  starting_.push({static_cast<double>(add(now, alone - transfer).count()), static_cast<double>(transfer.count()), id,
                  channels_of(price, task), rate_of(task, transfer)});
}

double FairChannel::slowdown(std::size_t channels) const {
  int most = 0;
  for (unsigned channel = 0; channel < channel_count; ++channel)
    if ((channels >> channel & 1U) != 0) most = std::max(most, on_channel_[channel]);
  return most;
}

void FairChannel::count(Channels channels, int change) {
  for (unsigned channel = 0; channel < channel_count; ++channel)
    if ((channels >> channel & 1U) != 0) on_channel_[channel] += change;
}

Load FairChannel::load() const {
  Load load{static_cast<std::int64_t>(starting_.size()), 0};
  for (std::size_t channels = 0; channels < by_channels_.size(); ++channels) {
    if (by_channels_[channels].sharing.empty()) continue;
    load.in_flight += static_cast<std::int64_t>(by_channels_[channels].sharing.size());
    if (channels > 0) load.rate += by_channels_[channels].rate / slowdown(channels);
  }
  return load;
}

void FairChannel::advance(Time now) {
  const auto passed = static_cast<double>((now - real_now_).count());
  for (std::size_t channels = 1; channels < by_channels_.size(); ++channels)
    if (!by_channels_[channels].sharing.empty()) by_channels_[channels].virtual_now += passed / slowdown(channels);
  real_now_ = now;
}

Time FairChannel::next_end(std::size_t channels) const {
  const auto& [sharing, virtual_now, rate] = by_channels_[channels];
  if (sharing.empty()) return never;
  const double left = std::max(0.0, sharing.top().at - virtual_now) * slowdown(channels);
  return add(real_now_, Time(std::llround(left)));
}

Time FairChannel::next_completion() const {
  Time next = starting_.empty() ? never : Time(static_cast<std::int64_t>(starting_.top().at));
  for (std::size_t channels = 0; channels < by_channels_.size(); ++channels) next = std::min(next, next_end(channels));
  return next;
}

void FairChannel::complete(Time now, std::vector<TaskId>& done) {
  std::array<bool, all_channels + 1> ends{};  // decided before advance() rounds the virtual times
  for (std::size_t channels = 0; channels < by_channels_.size(); ++channels) ends[channels] = next_end(channels) == now;
  advance(now);
  for (std::size_t channels = 0; channels < by_channels_.size(); ++channels) {
    auto& [sharing, virtual_now, rate] = by_channels_[channels];
    if (!ends[channels]) continue;
    const double end = sharing.top().at;
    while (!sharing.empty() && sharing.top().at <= end) {
      rate -= sharing.top().rate;
      count(sharing.top().channels, -1);
      done.push_back(sharing.top().id);
      sharing.pop();
    }
    virtual_now = sharing.empty() ? 0 : end;
    if (sharing.empty()) rate = 0;
  }
  while (!starting_.empty() && starting_.top().at <= static_cast<double>(now.count())) {
    Transfer next = starting_.top();
    starting_.pop();
    auto& [sharing, virtual_now, rate] = by_channels_[next.channels];
    next.at = virtual_now + next.work;
    rate += next.rate;
    count(next.channels, 1);
    sharing.push(next);
  }
}

}  // namespace allreplay
