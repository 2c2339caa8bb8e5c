#include "sim/replay/network/message.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace allreplay {

namespace {

// An event's `what` encodes its kind and its version: kind + kinds · version. Versions wrap around.
constexpr std::uint32_t kinds = 8;
constexpr std::uint32_t versions = 0xffffffff / kinds;

}  // namespace

MessageNetwork::MessageNetwork(std::vector<std::shared_ptr<const RoutedRounds>> collectives,
                               std::span<const Link> links, double gamma, Parties parties, NcclCalls nccl)
    : collectives_(std::move(collectives)),
      gamma_(gamma * 1e12),
      parties_(std::move(parties)),
      nccl_(std::move(nccl)),
      links_(links) {
  nccl_.resize(collectives_.size());
  std::uint32_t ranks = 0;
  for (const auto& collective : collectives_)
    if (collective) ranks = std::max(ranks, collective->ranks);
  reducers_.assign(1, std::vector<Reducer>(ranks));
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
  NcclWay way{.rounds = task.call_id, .bytes = 1};
  if (nccl_[task.call_id] && task.bytes > 0) way = nccl_[task.call_id]->way(task.bytes);
  running.call = task.call_id;
  running.way = way.rounds;
  running.busy = true;
  running.rounds = collectives_[way.rounds].get();
  running.bytes = task.bytes * way.bytes;
  running.base = to_time(way.base);
  running.start_ups = {way.start_ups[0] * 1e12, way.start_ups[1] * 1e12};
  if (running.rounds->deliveries == 0) running.bytes = 0;  // groups of one rank have no rounds
  running.absent = parties_.empty() ? 0 : running.rounds->ranks;
  running.left = running.absent + (running.bytes > 0 ? running.rounds->deliveries : 0);
  running.first = running.last = 0;
  running.tail = 0;
  running.tail_turn = 0;
  if (running.progress.empty()) {
    running.progress.resize(4);
    running.mask = 3;
  }
  running.channels.resize(running.rounds->channels);
  running.ready = add(now, running.base);
  if (running.left == 0) {
    instants_.push(running.ready, {index, Ended});
    return;
  }
  running.next.assign(running.rounds->slots, 0);
  running.out.assign(running.rounds->slots, {});
  running.in.assign(running.rounds->slots, {});
  if (running.bytes > 0) init_lines(running);
  if (running.absent > 0) {
    running.has_started.assign(running.absent, false);
    running.held.resize(running.absent);
    return;
  }
  for (std::uint32_t slot = 0; slot < running.rounds->slots; ++slot) advance(index, slot, running.ready);
}

void MessageNetwork::init_lines(Running& running) {
  const RoutedRound& first = running.rounds->rounds.front();
  for (std::uint32_t slot = 0; slot < running.rounds->slots; ++slot) {
    running.out[slot].left = first.in_order_from(slot);
    running.in[slot].left = first.in_order_into(slot);
  }
}

void MessageNetwork::join(TaskId id, std::uint32_t party, Time now) {
  const auto found = std::find_if(running_.begin(), running_.end(), [&](const Running& one) { return one.id == id; });
  const auto index = static_cast<std::uint32_t>(found - running_.begin());
  if (found->base == Time(0)) return start_party(index, party, now);
  instants_.push(add(now, found->base), {index, Ready + kinds * party});
}

// Starts the ranks of a party: they receive the messages that have arrived, and send.
void MessageNetwork::start_party(std::uint32_t index, std::uint32_t party, Time now) {
  Running& running = running_[index];
  for (const Rank rank : parties_[party]) {
    running.has_started[rank] = true;
    --running.absent;
    for (const std::uint32_t flow : std::exchange(running.held[rank], {})) receive(flow, now);
    const std::uint32_t streams = running.bytes > 0 ? running.rounds->streams : 0;
    for (std::uint32_t stream = 0; stream < streams; ++stream) advance(index, rank * streams + stream, now);
    count_down(index);
  }
  instants_.push(now, {0, Nothing});
}

Load MessageNetwork::load_of(const WhichCalls& which) const {
  return {std::count_if(running_.begin(), running_.end(),
                        [&](const Running& running) { return running.busy && which(running.call); }),
          0};
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
    running_[running].busy = false;
    idle_running_.push_back(running);
  }
  finished_.clear();
}

void MessageNetwork::handle(Instants::Event event, Time now) {
  switch (event.what % kinds) {
    case Begin:
      return leave_sender(event.subject, now);
    case Ends: {
      Flow& flow = flows_[event.subject];
      if (event.what / kinds != flow.version) return;
      if (flow.end > now) {  // the flow has become slower since this event was scheduled
        flow.wakes = flow.end;
        return instants_.push(flow.wakes, event);
      }
      mark_changed(links_.route(event.subject));
      links_.remove(event.subject);
      return end_flow(event.subject, now);
    }
    case Reduced:
      return deliver(event.subject, now);
    case Ended:
      return finished_.push_back(event.subject);
    case Ready:
      return start_party(event.subject, event.what / kinds, now);
    default:
      return;
  }
}

// Sends the slot's messages of every round for which it has all data.
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
    for (std::uint32_t i = laid.first[slot]; i < laid.first[slot + 1]; ++i)
      if (laid.messages[i].parts > 0) send(index, slot, laid.messages[i], round, now);
  }
}

void MessageNetwork::enter(Running& running, std::uint32_t round) {
  if (running.last - running.first == running.progress.size()) {
    std::vector<Progress> larger(2 * running.progress.size());
    const auto mask = static_cast<std::uint32_t>(larger.size() - 1);
    for (std::uint32_t r = running.first; r != running.last; ++r) larger[r & mask] = std::move(running.at(r));
    running.progress = std::move(larger);
    running.mask = mask;
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

void MessageNetwork::send(std::uint32_t index, std::uint32_t slot, const RoutedMessage& message, std::uint32_t round,
                          Time now) {
  if (message.channel != no_channel) {
    Channel& channel = running_[index].channels[message.channel];
    if (channel.busy) {
      channel.queue.push_back({&message, round});
      return;
    }
    channel.busy = true;
  }
  launch(index, slot, message, round, now);
}

// Starts all parts of a message.
void MessageNetwork::launch(std::uint32_t index, std::uint32_t slot, const RoutedMessage& message, std::uint32_t round,
                            Time now) {
  sent_ += message.copies;
  const std::uint32_t first_part = new_flow();
  flows_[first_part].parts_missing = message.parts;
  for (const RoutedMessage& part : std::span(&message, message.parts)) {
    const std::uint32_t id = &part == &message ? first_part : new_flow();
    Flow& flow = flows_[id];
    flow.first_part = first_part;
    flow.message = &part;
    flow.left = running_[index].bytes * part.share;
    flow.rate = 0;
    flow.running = index;
    flow.stage = Stage::StartsUp;
    flow.slot = slot;
    flow.round = round;
    const StartUp start_up(part, running_[index].start_ups);
    flow.updated = add(now, start_up.delay);
    flow.carry = start_up.carry;
    instants_.push(flow.updated, {id, Begin});
  }
}

// Called after the flow's start-up: it may go on once all earlier rounds have left its sender.
void MessageNetwork::leave_sender(std::uint32_t id, Time now) {
  const Flow& flow = flows_[id];
  if (flow.message->channel != no_channel) return begin(id, now);
  Running& running = running_[flow.running];
  Line& line = running.out[flow.slot];
  const bool goes =
      advance_line(running, line, flow.round, [&](const RoutedRound& r) { return r.in_order_from(flow.slot); });
  if (goes) return enter_receiver(id, now);
  flows_[id].stage = Stage::WaitsToLeave;
  insert_in_line(line, id);
}

// Begins the flow once all earlier rounds into its receiver have arrived.
void MessageNetwork::enter_receiver(std::uint32_t id, Time now) {
  const Flow& flow = flows_[id];
  Running& running = running_[flow.running];
  const std::uint32_t slot = flow.message->into;
  Line& line = running.in[slot];
  const bool goes =
      advance_line(running, line, flow.round, [&](const RoutedRound& r) { return r.in_order_into(slot); });
  if (goes) return begin(id, now);
  flows_[id].stage = Stage::WaitsToEnter;
  insert_in_line(line, id);
}

// Advances the line to `round`, if all messages of earlier rounds have passed, and returns true if it is there. A
// message of `round` exists, so the rounds in between are in progress or over.
template <class Count>
bool MessageNetwork::advance_line(Running& running, Line& line, std::uint32_t round, const Count& count) {
  while (line.left == 0 && line.round < round) {
    line.round = std::max(line.round + 1, running.first);
    line.left = count(*running.at(line.round).round);
  }
  return line.round == round;
}

// Inserts a flow into the line: by round, then by arrival.
void MessageNetwork::insert_in_line(Line& line, std::uint32_t id) {
  const std::uint32_t round = flows_[id].round;
  flows_[id].next_in_line = nobody;
  if (line.head == nobody) {
    line.head = line.tail = id;
  } else if (flows_[line.tail].round <= round) {
    line.tail = flows_[line.tail].next_in_line = id;
  } else {
    std::uint32_t* place = &line.head;
    while (flows_[*place].round <= round) place = &flows_[*place].next_in_line;
    flows_[id].next_in_line = std::exchange(*place, id);
  }
}

// Counts a message of the line's round as passed. After the last, calls `next` for the flows of the next round.
template <class Count, class Next>
void MessageNetwork::count_passed(Running& running, Line& line, const Count& count, const Next& next) {
  if (--line.left > 0 || line.head == nobody) return;
  const std::uint32_t round = flows_[line.head].round;
  if (!advance_line(running, line, round, count)) return;
  std::uint32_t id = line.head;
  while (line.head != nobody && flows_[line.head].round == round) line.head = flows_[line.head].next_in_line;
  for (const std::uint32_t end = line.head; id != end;) next(std::exchange(id, flows_[id].next_in_line));
}

void MessageNetwork::begin(std::uint32_t id, Time now) {
  Flow& flow = flows_[id];
  flow.stage = Stage::Moves;
  if (flow.message->hops == 0) return end_flow(id, now);
  const RoutedRounds& rounds = *running_[flow.running].rounds;
  links_.add(id, rounds.route(*flow.message), rounds.crowds_on(*flow.message));
}

// All bytes of the flow have arrived: lets the next round pass at its sender and its receiver.
void MessageNetwork::end_flow(std::uint32_t id, Time now) {
  flows_[id].stage = Stage::Arrived;
  const Flow& flow = flows_[id];
  const RoutedMessage& message = *flow.message;
  if (message.channel == no_channel) {
    Running& running = running_[flow.running];
    const std::uint32_t from = flow.slot, into = message.into;
    count_passed(
        running, running.out[from], [=](const RoutedRound& round) { return round.in_order_from(from); },
        [=, this](std::uint32_t next) { enter_receiver(next, now); });
    count_passed(
        running, running.in[into], [=](const RoutedRound& round) { return round.in_order_into(into); },
        [=, this](std::uint32_t next) { begin(next, now); });
  }
  const std::uint32_t first_part = flows_[id].first_part;
  if (id != first_part) ended_flows_.push_back(id);
  if (--flows_[first_part].parts_missing == 0) end_message(first_part, now);
}

// The last part of a message has arrived: frees its channel, and receives it once its receiver has started.
void MessageNetwork::end_message(std::uint32_t id, Time now) {
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
      launch(flow.running, 0, *next.message, next.round, now);
    }
  }
  if (!parties_.empty()) {
    Running& running = running_[flows_[id].running];
    if (running.absent > 0 && !running.has_started[message.to]) return running.held[message.to].push_back(id);
  }
  receive(id, now);
}

// Reduces the message after the earlier ones at its receiver, or delivers it immediately if nothing is reduced.
void MessageNetwork::receive(std::uint32_t id, Time now) {
  const RoutedMessage& message = *flows_[id].message;
  if (!message.reduce || gamma_ == 0) return deliver(id, now);
  Reducer& reducer = reducers_[job_of(running_[flows_[id].running])][message.to];
  if (now > reducer.free) reducer = {now, 0};
  const double takes = reducer.carry + running_[flows_[id].running].bytes * message.share * message.parts * gamma_;
  const Time lasts = from_picoseconds(takes);
  reducer = {add(reducer.free, lasts), takes - static_cast<double>(lasts.count())};
  instants_.push(reducer.free, {id, Reduced});
}

void MessageNetwork::deliver(std::uint32_t id, Time now) {
  const Flow& flow = flows_[id];
  ended_flows_.push_back(id);
  const std::uint32_t index = flow.running;
  const std::uint32_t slot = flow.message->into;
  Running& running = running_[index];
  std::uint32_t& missing = running.at(flow.round).missing[slot];
  missing -= flow.message->parts;
  if (missing == 0 && running.next[slot] == flow.round + 1) advance(index, slot, now);
  count_down(index);
}

void MessageNetwork::count_down(std::uint32_t running) {
  if (--running_[running].left == 0) finished_.push_back(running);
}

// Sets new rates, and with them new ends, after the changes of this instant.
void MessageNetwork::share(Time now) {
  changed_.clear();
  links_.settle(changed_);
  for (const std::uint32_t id : changed_) set_rate(id, now);
  if (meetings_) update_meetings(now);
  for (const std::uint32_t id : ended_flows_) flows_[id].message = nullptr;
  free_flows_.insert(free_flows_.end(), ended_flows_.begin(), ended_flows_.end());
  ended_flows_.clear();
}

void MessageNetwork::set_rate(std::uint32_t id, Time now) {
  Flow& flow = flows_[id];
  if (!flow.message) return;
  const double rate = links_.rate(id);
  if (flow.rate > 0)
    flow.left -= flow.rate * static_cast<double>((now - flow.updated).count());
  else if (flow.updated == now)  // it waited only for its start-up, whose exact end differs from `now` by `carry`
    flow.left += flow.carry * rate;
  const bool waits = flow.rate > 0;
  flow.rate = rate;
  flow.updated = now;
  flow.end = add(now, from_picoseconds(std::max(0.0, flow.left / rate)));
  if (waits && flow.wakes <= flow.end) return;
  flow.wakes = flow.end;
  flow.version = (flow.version + 1) % versions;
  instants_.push(flow.wakes, {id, Ends + kinds * flow.version});
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
