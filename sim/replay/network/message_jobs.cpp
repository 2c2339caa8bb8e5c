// The parts of a network of messages that several jobs share: changed links, background, meetings of jobs, and a
// description of the state.
#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "sim/replay/network/message.hpp"

namespace allreplay {

void MessageNetwork::serve(std::vector<std::uint32_t> job_of_call, Meetings* meetings) {
  job_of_call_ = std::move(job_of_call);
  meetings_ = meetings;
  std::uint32_t jobs = 0;
  for (const std::uint32_t job : job_of_call_) jobs = std::max(jobs, job + 1);
  reducers_.resize(jobs, reducers_.front());
}

// Makes a running collective refer to the same rounds on changed links.
void MessageNetwork::move_to_links(Running& running, const RoutedRounds& rounds) {
  const RoutedRound* const before = running.rounds->rounds.data();
  for (Channel& channel : running.channels)
    for (std::size_t i = channel.served; i < channel.queue.size(); ++i) {
      Waiting& waiting = channel.queue[i];
      const RoutedRound& round = *running.at(waiting.round).round;
      waiting.message = &rounds.rounds[&round - before].messages[waiting.message - round.messages.data()];
    }
  for (std::uint32_t round = running.first; round != running.last; ++round)
    running.at(round).round = &rounds.rounds[running.at(round).round - before];
  running.rounds = &rounds;
}

void MessageNetwork::lay(std::vector<std::shared_ptr<const RoutedRounds>> collectives, std::span<const Link> links,
                         Time now) {
  for (LinkId link = 0; link < links.size(); ++link) {
    links_.set_capacity(link, links[link].bandwidth * 1e-12);
    mark_changed({&link, 1});
  }
  std::vector<std::uint32_t> rerouted;
  for (std::uint32_t id = 0; id < flows_.size(); ++id) {
    Flow& flow = flows_[id];
    if (!flow.message) continue;
    const Running& running = running_[flow.running];
    const RoutedRounds& rounds = *collectives[running.way];
    const RoutedRound& round = *running_[flow.running].at(flow.round).round;
    flow.message =
        &rounds.rounds[&round - running.rounds->rounds.data()].messages[flow.message - round.messages.data()];
    if (flow.stage != Stage::Moves) continue;
    if (std::ranges::equal(links_.route(id), rounds.route(*flow.message))) {
      links_.move(id, rounds.route(*flow.message));
      continue;
    }
    links_.remove(id);
    rerouted.push_back(id);
  }
  for (Running& running : running_)
    if (running.busy && running.left > 0) move_to_links(running, *collectives[running.way]);
  changed_.clear();
  links_.settle(changed_);
  for (const std::uint32_t id : rerouted) {
    const Flow& flow = flows_[id];
    links_.add(id, running_[flow.running].rounds->route(*flow.message));
  }
  links_.settle(changed_);
  for (const std::uint32_t id : changed_) set_rate(id, now);
  if (meetings_) update_meetings(now);
  collectives_ = std::move(collectives);
}

void MessageNetwork::set_other(std::uint32_t number, std::span<const LinkId> way, Time now) {
  while (background_.size() <= number) background_.push_back({new_flow(), false});
  Background& background = background_[number];
  if (!background.moves && way.empty()) return;
  if (background.moves && std::ranges::equal(links_.route(background.flow), way))
    return links_.move(background.flow, way);
  if (background.moves) {
    mark_changed(links_.route(background.flow));
    links_.remove(background.flow);
    share(now);
  }
  background.moves = !way.empty();
  if (background.moves) {
    links_.add(background.flow, way);
    mark_changed(way);
  }
  share(now);
}

// Marks the links as changed in this instant, to find meetings.
void MessageNetwork::mark_changed(std::span<const LinkId> way) {
  if (meetings_) touched_.insert(touched_.end(), way.begin(), way.end());
}

void MessageNetwork::update_meetings(Time now) {
  for (const std::uint32_t id : changed_) mark_changed(links_.route(id));
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  for (const LinkId link : touched_) update_meeting(link, now);
  touched_.clear();
}

void MessageNetwork::update_meeting(LinkId link, Time now) {
  if (link >= meeting_on_.size()) meeting_on_.resize(link + 1);
  Meeting& meeting = meeting_on_[link];
  std::vector<std::uint32_t> jobs;
  const bool full = links_.full(link, [&](std::uint32_t id) {
    if (flows_[id].message) jobs.push_back(job_of(running_[flows_[id].running]));
  });
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  if (meeting.id != Meetings::none) meetings_->lasts(meeting.id, static_cast<double>((now - meeting.since).count()));
  meeting = {Meetings::none, now};
  if (!full || jobs.size() < 2) return;
  const Meetings::Place place = meetings_->place(link, jobs);
  meeting.id = meetings_->number({&place, 1});
}

std::vector<double> MessageNetwork::met(Time now) const {
  std::vector<double> lasted = meetings_->lasted();
  for (const Meeting& meeting : meeting_on_)
    if (meeting.id != Meetings::none) lasted[meeting.id] += static_cast<double>((now - meeting.since).count());
  return lasted;
}

// Lists missing messages and flows with their progress, sorted by task names; then the remaining reductions by rank.
void MessageNetwork::describe(Time now, const TaskNames& name, std::vector<std::int64_t>& all) const {
  const auto rounded = [](double ps) { return from_picoseconds(std::max(0.0, ps)).count(); };
  std::map<std::int64_t, std::vector<std::int64_t>> rows;
  for (const Running& running : running_) {
    if (!running.busy) continue;
    std::vector<std::int64_t>& row = rows[name(running.id)];
    row.push_back(std::max(Time(0), running.ready - now).count());
    row.insert(row.end(), running.next.begin(), running.next.end());
    for (std::uint32_t round = running.first; round != running.last; ++round) {
      const auto& missing = running.progress[round & running.mask].missing;
      row.insert(row.end(), missing.begin(), missing.end());
    }
    for (const auto* lines : {&running.out, &running.in})
      for (const Line& line : *lines) row.insert(row.end(), {line.round, line.left});
    for (const Channel& channel : running.channels) {
      row.push_back(channel.busy ? std::ssize(channel.queue) - static_cast<std::int64_t>(channel.served) : -1);
      for (std::size_t i = channel.served; i < channel.queue.size(); ++i) row.push_back(channel.queue[i].round);
    }
  }
  std::vector<std::array<std::int64_t, 6>> flows;
  for (const Flow& flow : flows_) {
    if (!flow.message) continue;
    const Running& running = running_[flow.running];
    double slowest = std::numeric_limits<double>::infinity(), left = flow.left;
    for (const LinkId link : running.rounds->route(*flow.message)) slowest = std::min(slowest, links_.capacity(link));
    if (flow.stage == Stage::Moves) left -= flow.rate * static_cast<double>((now - flow.updated).count());
    std::int64_t more = rounded(left / slowest);
    if (flow.stage == Stage::StartsUp) more = (flow.updated - now).count();
    if (flow.stage == Stage::Arrived) more = 0;
    const auto message = flow.message - running.progress[flow.round & running.mask].round->messages.data();
    flows.push_back(
        {name(running.id), flow.round, message, static_cast<std::int64_t>(flow.stage), more, flow.parts_missing});
  }
  std::sort(flows.begin(), flows.end());
  for (const auto& [task, row] : rows) {
    all.push_back(task);
    all.insert(all.end(), row.begin(), row.end());
  }
  for (const auto& row : flows) all.insert(all.end(), row.begin(), row.end());
  for (const auto& of_job : reducers_)
    for (const Reducer& reducer : of_job)
      all.push_back(reducer.free > now ? rounded(static_cast<double>((reducer.free - now).count()) + reducer.carry)
                                       : 0);
}

}  // namespace allreplay
