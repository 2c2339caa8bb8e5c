// The parts of a fluid network that several jobs share: changed links, background, and meetings of jobs.
#include <utility>

#include "sim/replay/network/fluid.hpp"

namespace allreplay {

void FluidNetwork::serve(std::vector<std::uint32_t> job_of_call, Meetings* meetings) {
  job_of_call_ = std::move(job_of_call);
  meetings_ = meetings;
  if (meetings_) full_links_.emplace(collectives_, job_of_call_, *shapes_, *meetings_);
}

void FluidNetwork::lay(std::vector<std::shared_ptr<const RoundLoads>> collectives, std::shared_ptr<const Shapes> shapes,
                       NcclCalls nccl, std::vector<std::uint32_t> others, Time now) {
  if (!state_.running.empty()) advance_to(now);
  State& state = state_;
  const MovingRounds moving = std::exchange(state.moving, {});
  const std::size_t count = own(moving);
  std::vector<double> alone;  // by entry of `moving`
  for (std::size_t i = 0; i < count; ++i) alone.push_back(state.running[moving.index[i]].moves);
  collectives_ = std::move(collectives);
  shapes_ = std::move(shapes);
  nccl_ = std::move(nccl);
  background_ = 0;
  for (Running& running : state.running) {
    running.loads = collectives_[running.way].get();
    set_durations(running);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Running& running = state.running[moving.index[i]];
    const double before = alone[i], after = running.moves;
    state.moving.add(running.shape, moving.index[i],
                     before == after ? moving.left[i]
                     : before > 0    ? moving.left[i] / before * after
                                     : 0);
  }
  set_background(others);
  state.speeds_stale = true;
  fair_ = MaxMin(std::vector<double>(shapes_->folded_links(), 1.0));
  known_speeds_.forget();
  if (meetings_) full_links_.emplace(collectives_, job_of_call_, *shapes_, *meetings_);
  if (rates_) update_seen(now);
}

void FluidNetwork::set_other_loads(std::vector<std::uint32_t> shapes, Time now) {
  if (!state_.running.empty()) advance_to(now);
  set_background(shapes);
  state_.speeds_stale = true;
  if (rates_) update_seen(now);
}

void FluidNetwork::set_background(std::span<const std::uint32_t> shapes) {
  state_.moving.shorten(own(state_.moving));
  background_ = shapes.size();
  for (const std::uint32_t shape : shapes) state_.moving.add(shape + MovingRounds::endless, 0, MovingRounds::forever);
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

}  // namespace allreplay
