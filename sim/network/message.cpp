#include "sim/network/message.hpp"

#include <algorithm>
#include <cmath>

namespace allreplay {

namespace {

// An event says of which kind it is, and of which version; versions go round.
constexpr std::uint32_t kinds = 8;
constexpr std::uint32_t versions = 0xffffffff / kinds;

}  // namespace

MessageNetwork::MessageNetwork(std::vector<std::shared_ptr<const RoutedRounds>> collectives,
                               std::span<const Link> links, double gamma, std::vector<Time> late)
    : collectives_(std::move(collectives)), gamma_(gamma * 1e12), late_(std::move(late)), links_(links) {
  std::uint32_t ranks = 0;
  for (const auto& collective : collectives_)
    if (collective) ranks = std::max(ranks, collective->ranks);
  reducers_.resize(ranks);
}

void MessageNetwork::start(TaskId id, const Task& task, Time now) {
  std::uint32_t index = static_cast<std::uint32_t>(running_.size());
  if (idle_running_.empty()) {
    running_.emplace_back();
  } else {
    index = idle_running_.back();
    idle_running_.pop_back();
  }
  Running& running = running_[index];
  running.id = id;
  running.rounds = collectives_[task.service].get();
  running.bytes = static_cast<double>(task.bytes);
  running.messages_left = task.bytes > 0 ? running.rounds->messages : 0;
  running.first = running.last = 0;
  running.tail = 0;
  running.tail_turn = 0;
  if (running.progress.empty()) running.progress.resize(4);
  running.channels.resize(running.rounds->channels);
  if (running.messages_left == 0) {
    finished_.push_back(index);
    instants_.push(now, {0, Nothing});
    return;
  }
  running.next.assign(running.rounds->slots, 0);
  for (std::uint32_t slot = 0; slot < running.rounds->slots; ++slot) {
    if (late_.empty()) {
      advance(index, slot, now);
    } else {
      const std::uint32_t flow = new_flow();
      flows_[flow].running = index;
      flows_[flow].round = slot;
      instants_.push(add(now, late_[slot / running.rounds->streams]), {flow, RankStarts});
    }
  }
}

void MessageNetwork::complete(Time now, std::vector<TaskId>& done) {
  while (instants_.next() == now) {
    instants_.pop([&](Instants::Event event) { handle(event, now); });
    share(now);
  }
  for (const std::uint32_t running : finished_) {
    done.push_back(running_[running].id);
    for (std::uint32_t round = running_[running].first; round != running_[running].last; ++round)
      running_[running].at(round).moved_on = 0;
    idle_running_.push_back(running);
  }
  finished_.clear();
}

void MessageNetwork::handle(Instants::Event event, Time now) {
  switch (event.what % kinds) {
    case Begin: {
      const Flow& flow = flows_[event.subject];
      if (flow.message->hops == 0) return arrive(event.subject, now);
      links_.add(event.subject, running_[flow.running].rounds->route(*flow.message));
      return;
    }
    case Ends: {
      Flow& flow = flows_[event.subject];
      if (event.what / kinds != flow.version) return;
      if (flow.end > now) {  // it has been slowed since
        flow.wakes = flow.end;
        return instants_.push(flow.wakes, event);
      }
      links_.remove(event.subject);
      return arrive(event.subject, now);
    }
    case Reduced:
      return deliver(event.subject, now);
    case RankStarts: {
      const Flow starts = flows_[event.subject];
      ended_flows_.push_back(event.subject);
      return advance(starts.running, starts.round, now);
    }
    default:
      return;
  }
}

// The slot sends in every round for which it has all data.
void MessageNetwork::advance(std::uint32_t index, std::uint32_t slot, Time now) {
  Running& running = running_[index];
  for (;;) {
    const std::uint32_t round = running.next[slot];
    if (round == running.rounds->length) return;
    if (round > 0) {
      if (running.at(round - 1).missing[slot] > 0) return;
      leave(running, round - 1);
    }
    if (round == running.last) enter(running, round);
    running.next[slot] = round + 1;
    const RoutedRound& laid = *running.at(round).round;
    for (std::uint32_t i = laid.first[slot]; i < laid.first[slot + 1]; ++i) send(index, laid.messages[i], round, now);
  }
}

void MessageNetwork::enter(Running& running, std::uint32_t round) {
  if (running.last - running.first == running.progress.size()) {
    std::vector<Progress> larger(2 * running.progress.size());
    for (std::uint32_t r = running.first; r != running.last; ++r)
      larger[r & (larger.size() - 1)] = std::move(running.at(r));
    running.progress = std::move(larger);
  }
  Progress& progress = running.at(round);
  progress.round = &running.rounds->rounds[running.tail];
  progress.missing.assign(progress.round->receives.begin(), progress.round->receives.end());
  progress.moved_on = 0;
  ++running.last;
  if (++running.tail_turn == progress.round->repeat) {
    ++running.tail;
    running.tail_turn = 0;
  }
}

void MessageNetwork::leave(Running& running, std::uint32_t round) {
  if (++running.at(round).moved_on < running.rounds->slots) return;
  ++running.first;  // slots leave rounds in order, so this is the first
}

void MessageNetwork::send(std::uint32_t index, const RoutedMessage& message, std::uint32_t round, Time now) {
  if (message.channel != no_channel) {
    Channel& channel = running_[index].channels[message.channel];
    if (channel.busy) {
      channel.queue.push_back({&message, round});
      return;
    }
    channel.busy = true;
  }
  launch(index, message, round, now);
}

void MessageNetwork::launch(std::uint32_t index, const RoutedMessage& message, std::uint32_t round, Time now) {
  ++sent_;
  const std::uint32_t id = new_flow();
  Flow& flow = flows_[id];
  flow.message = &message;
  flow.left = running_[index].bytes * message.share;
  flow.rate = 0;
  flow.running = index;
  flow.round = round;
  instants_.push(add(now, message.delay), {id, Begin});
}

// All bytes are there: the channel is free, and the receiver reduces them after what it reduces already.
void MessageNetwork::arrive(std::uint32_t id, Time now) {
  const Flow& flow = flows_[id];
  const RoutedMessage& message = *flow.message;
  if (message.channel != no_channel) {
    Channel& channel = running_[flow.running].channels[message.channel];
    channel.busy = false;
    if (!channel.queue.empty()) {
      const Waiting next = channel.queue[channel.served++];
      if (channel.served == channel.queue.size()) {
        channel.queue.clear();
        channel.served = 0;
      }
      channel.busy = true;
      launch(flow.running, *next.message, next.round, now);
    }
  }
  if (!message.reduce || gamma_ == 0) return deliver(id, now);
  Reducer& reducer = reducers_[message.to];
  if (now > reducer.free) reducer = {now, 0};
  const double takes = reducer.carry + running_[flows_[id].running].bytes * message.share * gamma_;
  const Time lasts = from_picoseconds(takes);
  reducer = {add(reducer.free, lasts), takes - static_cast<double>(lasts.count())};
  instants_.push(reducer.free, {id, Reduced});
}

void MessageNetwork::deliver(std::uint32_t id, Time now) {
  const Flow flow = flows_[id];
  ended_flows_.push_back(id);
  Running& running = running_[flow.running];
  if (--running.messages_left == 0) {
    finished_.push_back(flow.running);
    return;
  }
  const std::uint32_t slot = flow.message->into;
  if (--running.at(flow.round).missing[slot] == 0 && running.next[slot] == flow.round + 1)
    advance(flow.running, slot, now);
}

// New rates after the comings and goings of this instant, and with them new ends.
void MessageNetwork::share(Time now) {
  changed_.clear();
  links_.settle(changed_);
  for (const std::uint32_t id : changed_) {
    Flow& flow = flows_[id];
    const double rate = links_.rate(id);
    if (flow.rate == 0)
      flow.left += flow.message->carry * rate;  // it began that much later than the instant said
    else
      flow.left -= flow.rate * static_cast<double>((now - flow.updated).count());
    const bool waits = flow.rate > 0;
    flow.rate = rate;
    flow.updated = now;
    flow.end = add(now, from_picoseconds(std::max(0.0, flow.left / rate)));
    if (waits && flow.wakes <= flow.end) continue;
    flow.wakes = flow.end;
    flow.version = (flow.version + 1) % versions;
    instants_.push(flow.wakes, {id, Ends + kinds * flow.version});
  }
  free_flows_.insert(free_flows_.end(), ended_flows_.begin(), ended_flows_.end());
  ended_flows_.clear();
}

std::uint32_t MessageNetwork::new_flow() {
  if (free_flows_.empty()) {
    flows_.emplace_back();
    return static_cast<std::uint32_t>(flows_.size() - 1);
  }
  const std::uint32_t id = free_flows_.back();
  free_flows_.pop_back();
  return id;
}

}  // namespace allreplay
