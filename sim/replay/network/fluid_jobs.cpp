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

// Links that all shapes use equally are full together: one of them is computed.
void FluidNetwork::find_meeting_links() {
  if (!meetings_) return;
  job_of_shape_.assign(shapes_->size(), nobody);
  for (CallId call = 0; call < collectives_.size(); ++call)
    for (const RoundLoad& round : collectives_[call]->rounds) job_of_shape_[round.shape] = job_of_call_[call];
  using Row = std::vector<std::pair<std::uint32_t, double>>;  // the shapes that use a link, and how much
  std::map<LinkId, Row> rows;
  for (std::uint32_t shape = 0; shape < shapes_->size(); ++shape)
    for (const LinkUse& use : shapes_->whole(shape)) rows[use.link].emplace_back(shape, use.amount);
  meeting_links_.clear();
  meeting_uses_.assign(shapes_->size(), {});
  std::map<Row, LinkId> numbers;
  for (const auto& [link, row] : rows) {
    std::vector<std::uint32_t> shapes;
    for (const auto& [shape, amount] : row)
      if (job_of_shape_[shape] != nobody) shapes.push_back(shape);
    const auto same_job = [&](std::uint32_t shape) { return job_of_shape_[shape] == job_of_shape_[shapes.front()]; };
    if (std::all_of(shapes.begin(), shapes.end(), same_job)) continue;
    const auto [known, fresh] = numbers.emplace(row, static_cast<LinkId>(meeting_links_.size()));
    if (fresh) {
      meeting_links_.push_back({{}, shapes});
      for (const auto& [shape, amount] : row) meeting_uses_[shape].push_back({known->second, amount});
    }
    meeting_links_[known->second].links.push_back(link);
  }
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
  known_speeds_.forget();
  find_meeting_links();
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

Meetings::Id FluidNetwork::meeting_of(std::span<const AlikeRounds> together) const {
  constexpr double full = 1 - 1e-9;
  std::vector<double> used(meeting_links_.size(), 0);
  std::vector<char> moves(shapes_->size(), 0);  // by shape
  for (const auto& [shape, count, speed] : together) {
    for (const LinkUse& use : meeting_uses_[shape]) used[use.link] += use.amount * speed * count;
    moves[shape] = 1;
  }
  std::vector<Meetings::Place> places;
  std::vector<std::uint32_t> jobs;
  for (std::size_t alike = 0; alike < used.size(); ++alike) {
    if (used[alike] < full) continue;
    jobs.clear();
    for (const std::uint32_t shape : meeting_links_[alike].shapes)
      if (moves[shape]) jobs.push_back(job_of_shape_[shape]);
    std::sort(jobs.begin(), jobs.end());
    jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
    if (jobs.size() < 2) continue;
    for (const LinkId link : meeting_links_[alike].links) places.push_back({link, jobs});
  }
  std::sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.link < b.link; });
  return meetings_->number(places);
}

}  // namespace allreplay
