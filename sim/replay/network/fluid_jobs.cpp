// The parts of a fluid network that several jobs share: changed links, background, and meetings of jobs.
#include <algorithm>
#include <map>
#include <utility>

#include "sim/replay/network/fluid.hpp"

namespace allreplay {

namespace {

constexpr std::uint32_t nobody = 0xffffffff;

}  // namespace

void FluidNetwork::serve(std::vector<std::uint32_t> job_of_call, Meetings* meetings) {
  job_of_call_ = std::move(job_of_call);
  meetings_ = meetings;
  find_meeting_links();
}

void FluidNetwork::find_meeting_links() {
  if (!meetings_) return;
  job_of_shape_.assign(shapes_->size(), nobody);
  for (CallId call = 0; call < collectives_.size(); ++call)
    for (const RoundLoad& round : collectives_[call]->rounds) job_of_shape_[round.shape] = job_of_call_[call];
  struct Met {
    std::uint32_t job = nobody;
    bool several = false;
    LinkId number = 0;
  };
  std::map<LinkId, Met> links;
  for (std::uint32_t shape = 0; shape < shapes_->size(); ++shape)
    if (const std::uint32_t job = job_of_shape_[shape]; job != nobody)
      for (const LinkUse& use : shapes_->whole(shape)) {
        Met& link = links[use.link];
        link.several |= link.job != nobody && link.job != job;
        link.job = job;
      }
  meeting_links_.clear();
  for (auto& [id, link] : links)
    if (link.several) {
      link.number = static_cast<LinkId>(meeting_links_.size());
      meeting_links_.push_back(id);
    }
  meeting_uses_.assign(shapes_->size(), {});
  for (std::uint32_t shape = 0; shape < shapes_->size(); ++shape)
    for (const LinkUse& use : shapes_->whole(shape))
      if (const auto found = links.find(use.link); found != links.end() && found->second.several)
        meeting_uses_[shape].push_back({found->second.number, use.amount});
}

void FluidNetwork::lay(std::vector<std::shared_ptr<const RoundLoads>> collectives, std::shared_ptr<const Shapes> shapes,
                       NcclCalls nccl, std::vector<std::uint32_t> others, Time now) {
  if (!state_.running.empty()) advance_to(now);
  State& state = state_;
  const std::vector<Moving> moving = std::exchange(state.moving, {});
  state.alike.clear();
  std::vector<double> alone;  // by entry of `moving`
  for (const Moving& one : moving) alone.push_back(state.running[one.index].moves);
  collectives_ = std::move(collectives);
  shapes_ = std::move(shapes);
  nccl_ = std::move(nccl);
  background_shapes_ = std::move(others);
  for (Running& running : state.running) {
    running.loads = collectives_[running.way].get();
    set_durations(running);
  }
  auto before = alone.begin();
  for (const Moving& one : moving) {
    const double after = state.running[one.index].moves;
    move(state, one.index, *before == after ? one.left : *before > 0 ? one.left / *before * after : 0);
    ++before;
  }
  state.speeds_stale = true;
  known_speeds_.forget();
  find_meeting_links();
  if (rates_) update_seen(now);
}

void FluidNetwork::set_other_loads(std::vector<std::uint32_t> shapes, Time now) {
  if (!state_.running.empty()) advance_to(now);
  background_shapes_ = std::move(shapes);
  state_.speeds_stale = true;
  if (rates_) update_seen(now);
}

void FluidNetwork::settle_meetings() {
  for (const auto& [meeting, ps] : state_.met) meetings_->lasts(meeting, ps);
  state_.met.clear();
}

std::vector<double> FluidNetwork::met(Time now) const {
  const State state = state_at(now);
  std::vector<double> lasted = meetings_->lasted();
  for (const auto& [meeting, ps] : state.met) lasted[meeting] += ps;
  return lasted;
}

Meetings::Id FluidNetwork::meeting_of(std::span<const AlikeRounds> together) const {
  constexpr double full = 1 - 1e-9;
  std::vector<double> used(meeting_links_.size(), 0);
  for (const auto& [shape, count, speed] : together)
    for (const LinkUse& use : meeting_uses_[shape]) used[use.link] += use.amount * speed * count;
  std::vector<Meetings::Place> places;
  std::vector<std::uint32_t> place_of(used.size(), nobody);
  for (LinkId link = 0; link < used.size(); ++link)
    if (used[link] >= full) {
      place_of[link] = static_cast<std::uint32_t>(places.size());
      places.push_back({meeting_links_[link], {}});
    }
  if (places.empty()) return Meetings::none;
  for (const auto& [shape, count, speed] : together)
    for (const LinkUse& use : meeting_uses_[shape])
      if (place_of[use.link] != nobody && job_of_shape_[shape] != nobody)
        places[place_of[use.link]].jobs.push_back(job_of_shape_[shape]);
  for (Meetings::Place& place : places) {
    std::sort(place.jobs.begin(), place.jobs.end());
    place.jobs.erase(std::unique(place.jobs.begin(), place.jobs.end()), place.jobs.end());
  }
  std::erase_if(places, [](const Meetings::Place& place) { return place.jobs.size() < 2; });
  return meetings_->number(places);
}

}  // namespace allreplay
