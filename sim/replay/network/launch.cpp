#include "sim/replay/network/launch.hpp"

#include <algorithm>
#include <functional>

namespace allreplay {

void Launcher::start(TaskId id, const Task& task, Time now) {
  if (per_rank_start_) {
    in_parties_[id] = {task};
    return;
  }
  const std::vector<CallId>& legs = legs_[task.call_id];
  if (legs.size() == 1) return launch(id, task, single_party, now);
  multi_leg_.push_back({id, task, 0});
  Task first = task;
  first.call_id = legs.front();
  launch(id, first, single_party, now);
}

void Launcher::join(TaskId id, std::uint32_t party, Time now) { launch(id, in_parties_.at(id).task, party, now); }

void Launcher::launch(TaskId id, const Task& task, std::uint32_t party, Time now) {
  const auto& length = launch_[task.call_id];
  if (task.bytes <= 0 || !length) return start_inside(id, task, party, now);
  Time& free = free_at_[{task.queue, party}];
  free = add(std::max(now, free), add(*length, task.duration));
  if (free == now) return start_inside(id, task, party, now);
  launching_.push_back({free, launches_++, id, task, party});
  std::push_heap(launching_.begin(), launching_.end(), std::greater<>());
}

void Launcher::start_inside(TaskId id, const Task& task, std::uint32_t party, Time now) {
  if (!per_rank_start_) return network_->start(id, task, now);
  if (!std::exchange(in_parties_.at(id).launched, true)) network_->start(id, task, now);
  network_->join(id, party, now);
}

Time Launcher::next_completion() const {
  const Time next = network_->next_completion();
  return launching_.empty() ? next : std::min(next, launching_.front().at);
}

void Launcher::complete(Time now, std::vector<TaskId>& done) {
  ended_.clear();
  if (network_->next_completion() == now) network_->complete(now, ended_);
  for (const TaskId id : ended_) {
    const auto running =
        std::find_if(multi_leg_.begin(), multi_leg_.end(), [&](const auto& one) { return one.id == id; });
    if (running == multi_leg_.end()) {
      done.push_back(id);
      continue;
    }
    const std::vector<CallId>& legs = legs_[running->task.call_id];
    if (++running->leg == legs.size()) {
      multi_leg_.erase(running);
      done.push_back(id);
      continue;
    }
    Task next = running->task;
    next.duration = Time(0);
    next.call_id = legs[running->leg];
    launch(id, next, single_party, now);
  }
  start_launched(now);
}

void Launcher::start_launched(Time now) {
  while (!launching_.empty() && launching_.front().at == now) {
    std::pop_heap(launching_.begin(), launching_.end(), std::greater<>());
    const Leg leg = launching_.back();
    launching_.pop_back();
    start_inside(leg.id, leg.task, leg.party, now);
  }
}

// REQUIRES: all tasks have one leg.
void Launcher::describe(Time now, const TaskNames& name, std::vector<std::int64_t>& state) const {
  std::vector<Leg> legs = launching_;
  std::sort(legs.begin(), legs.end(), [](const Leg& a, const Leg& b) { return b > a; });
  state.push_back(std::ssize(legs));
  for (const Leg& leg : legs) state.insert(state.end(), {name(leg.id), (leg.at - now).count()});
  for (const auto& [lane, free] : free_at_)
    state.insert(state.end(), {static_cast<std::int64_t>(lane.first), std::max(Time(0), free - now).count()});
  network_->describe(now, name, state);
}

LaunchedFabric::LaunchedFabric(std::shared_ptr<const Fabric> inside, Time launch, Legs legs, Time of_tensor,
                               bool (*is_launched)(const Call& call))
    : Fabric(inside->calls(), inside->workers()),
      inside_(std::move(inside)),
      of_tensor_(of_tensor),
      legs_(std::move(legs)) {
  legs_.resize(calls().size());
  for (CallId id = 0; id < legs_.size(); ++id) {
    if (legs_[id].empty()) legs_[id] = {id};
    const bool launched = calls()[id].group.ranks > 1 && (!is_launched || is_launched(calls()[id]));
    launch_.push_back(launched ? std::optional(launch) : std::nullopt);
  }
}

Time LaunchedFabric::launches(const Call& call) const {
  Time sum{0};
  for (const CallId leg : legs_of(call)) sum = add(sum, launch_[leg].value_or(Time(0)));
  return sum;
}

CommCost LaunchedFabric::price(const Call& call) const { return inside_->price(call).after(launches(call)); }

Time LaunchedFabric::alone(WireBytes bytes, const Call& call) const {
  if (bytes <= 0) return Time(0);
  Time sum = launches(call);
  for (const CallId leg : legs_of(call)) sum = add(sum, inside_->alone(bytes, calls()[leg]));
  return sum;
}

// The first leg waits for its launch; other launches overlap with transfers if several blocks are in flight.
Time LaunchedFabric::least(WireBytes bytes, const Call& call, bool several) const {
  if (bytes <= 0) return Time(0);
  const std::vector<CallId>& legs = legs_of(call);
  const Time first = launch_[legs.front()].value_or(Time(0));
  if (legs.size() == 1) return add(first, inside_->least(bytes, call, several));
  return several ? add(first, busiest(bytes, call).second) : least_behind(bytes, call, false);
}

Time LaunchedFabric::least_behind(WireBytes bytes, const Call& call, bool several) const {
  const std::vector<CallId>& legs = legs_of(call);
  if (several) return legs.size() == 1 ? inside_->least_behind(bytes, call, true) : busiest(bytes, call).second;
  Time sum = bytes > 0 ? launches(call) : Time(0);
  for (const CallId leg : legs) sum = add(sum, inside_->least_behind(bytes, calls()[leg], false));
  return sum;
}

Channels LaunchedFabric::channels(const Call& call) const {
  return legs_of(call).size() == 1 ? inside_->channels(call) : busiest(1, call).first;
}

// The channel on which the legs together take longest at the best speed, and that time.
std::pair<Channels, Time> LaunchedFabric::busiest(WireBytes bytes, const Call& call) const {
  const std::vector<CallId>& legs = legs_of(call);
  if (legs.size() == 1) return {inside_->channels(call), inside_->at_best(bytes, call)};
  std::pair<Channels, Time> most{channel_inside, Time(0)};
  for (unsigned channel = 0; channel < channel_count; ++channel) {
    Time sum{0};
    for (const CallId leg : legs)
      if ((inside_->channels(calls()[leg]) >> channel & 1U) != 0) sum = add(sum, inside_->at_best(bytes, calls()[leg]));
    if (sum > most.second) most = {static_cast<Channels>(1U << channel), sum};
  }
  return most;
}

std::unique_ptr<Server> LaunchedFabric::server() const {
  return std::make_unique<Launcher>(inside_->server(), launch_, legs_);
}

std::unique_ptr<Server> LaunchedFabric::server_per_rank(const Parties& parties) const {
  return std::make_unique<Launcher>(inside_->server_per_rank(parties), launch_, legs_, true);
}

}  // namespace allreplay
