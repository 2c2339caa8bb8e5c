#include "sim/replay/network/fluid.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/replay/network/whole_ps.hpp"

namespace allreplay {

namespace {

constexpr double forever = std::numeric_limits<double>::infinity();

// The number of steps to look ahead, into a future that another start may make void.
constexpr std::int64_t steps_ahead = 100;
constexpr std::int64_t all_steps = std::numeric_limits<std::int64_t>::max();

}  // namespace

FluidNetwork::FluidNetwork(std::vector<std::shared_ptr<const RoundLoads>> collectives,
                           std::shared_ptr<const Shapes> shapes, double alpha, double gamma, bool rates, NcclCalls nccl)
    : collectives_(std::move(collectives)),
      shapes_(std::move(shapes)),
      alpha_(alpha * 1e12),
      gamma_(gamma * 1e12),
      rates_(rates),
      nccl_(std::move(nccl)),
      fair_(std::vector<double>(shapes_->folded_links(), 1.0)) {
  nccl_.resize(collectives_.size());
}

void FluidNetwork::start(TaskId id, const Task& task, Time now) {
  if (state_.running.empty()) {
    origin_ = now;
    state_.now = state_.goes_on = 0;
  }
  advance_to(now);
  Running running{.at = relative(now),
                  .id = id,
                  .call = task.call_id,
                  .way = task.call_id,
                  .loads = collectives_[task.call_id].get(),
                  .bytes = task.bytes};
  if (task.bytes <= 0) {
    running.round = running.loads->rounds.size();
  } else if (const auto& nccl = nccl_[task.call_id]) {
    const NcclWay way = nccl->way(task.bytes);
    running.way = way.rounds;
    running.loads = collectives_[way.rounds].get();
    running.pace = {nccl->seconds(task.bytes), 0, way.bytes, way.start_up / static_cast<double>(running.loads->length)};
  } else {
    running.pace = running.loads->pace(alpha_ * 1e-12, task.bytes);
  }
  set_durations(running);
  state_.running.push_back(running);
  state_.fresh.push_back(static_cast<std::uint32_t>(state_.running.size() - 1));
  if (rates_) update_seen(now);
}

Time FluidNetwork::next_completion() const { return rates_ ? std::min(next_end(), next_change()) : next_end(); }

// The next instant at which a round begins to move its bytes, or has moved them.
Time FluidNetwork::next_change() const {
  const double next = seen_.ended.empty() ? next_instant(seen_) : forever;
  return next == forever ? never : add(origin_, Time(static_cast<std::int64_t>(std::ceil(next))));
}

template <class Counted>
Load FluidNetwork::load_if(const Counted& counted) const {
  Load load{std::count_if(state_.running.begin(), state_.running.end(), counted), 0};
  if (!rates_) return load;
  for (std::size_t i = 0; i < own(seen_.moving); ++i) {
    const Running& running = seen_.running[seen_.moving.index[i]];
    if (counted(running)) load.rate += seen_.moving.speed[i] / (running.loads->per_byte(0) * running.pace.bytes);
  }
  return load;
}

Load FluidNetwork::load() const {
  return load_if([](const Running&) { return true; });
}

Load FluidNetwork::load_of(const WhichCalls& which) const {
  return load_if([&](const Running& running) { return which(running.call); });
}

Time FluidNetwork::next_end() const {
  if (state_.running.empty()) return never;
  if (!ahead_stopped_) {
    ahead_ = state_;
    ahead_stopped_ = run(ahead_, forever, steps_ahead + static_cast<std::int64_t>(ahead_.running.size()));
  }
  if (*ahead_stopped_ == Stop::Patience) return add(origin_, from_picoseconds(std::floor(ahead_.now) + 1));
  double end = forever;
  for (const std::uint32_t index : ahead_.ended) end = std::min(end, ahead_.running[index].at);
  return add(origin_, from_picoseconds(end));
}

void FluidNetwork::complete(Time now, std::vector<TaskId>& done) {
  if (now == next_end()) {
    std::swap(state_, ahead_);
    const bool ended = *ahead_stopped_ != Stop::Patience;
    ahead_stopped_.reset();
    settle_meetings();
    if (ended) remove_ended(relative(now), done);
    if (rates_) return update_seen(now);
  }
  if (rates_) run(seen_, relative(now), all_steps);
}

// Advances the state to `now`, and discards the look-ahead.
void FluidNetwork::advance_to(Time now) {
  ahead_stopped_.reset();
  run(state_, relative(now), all_steps);
  settle_meetings();
}

FluidNetwork::State FluidNetwork::state_at(Time now) const {
  State state = state_;
  if (!state.running.empty()) run(state, relative(now), all_steps);
  return state;
}

// Sorted by the names of the tasks.
void FluidNetwork::describe(Time now, const TaskNames& name, std::vector<std::int64_t>& all) const {
  const State state = state_at(now);
  std::vector<double> left(state.running.size(), 0);
  for (std::size_t i = 0; i < own(state.moving); ++i) left[state.moving.index[i]] = state.moving.left[i];
  std::vector<std::array<std::int64_t, 5>> rows;
  for (std::size_t index = 0; index < state.running.size(); ++index) {
    const Running& one = state.running[index];
    const double more = one.step == Step::Transfer ? left[index] : one.at - relative(now);
    rows.push_back({name(one.id), static_cast<std::int64_t>(one.round), one.turn, static_cast<std::int64_t>(one.step),
                    static_cast<std::int64_t>(whole(more))});
  }
  std::sort(rows.begin(), rows.end());
  all.push_back(std::ssize(rows));
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
}

void FluidNetwork::update_seen(Time now) {
  seen_ = state_;
  run(seen_, relative(now), all_steps);
}

// Removes the collectives that have ended by `at`, in the order of their starts, and renumbers the others.
void FluidNetwork::remove_ended(double at, std::vector<TaskId>& done) {
  std::vector<std::uint32_t> number(state_.running.size());
  std::uint32_t kept = 0;
  state_.ended.clear();
  for (std::size_t index = 0; index < number.size(); ++index) {
    const Running running = state_.running[index];
    const bool ended = running.round == running.loads->rounds.size();
    if (ended && running.at <= at) {
      done.push_back(running.id);
      continue;
    }
    if (ended) state_.ended.push_back(kept);
    number[index] = kept;
    state_.running[kept++] = running;
  }
  state_.running.resize(kept);
  for (std::size_t i = 0; i < own(state_.moving); ++i) state_.moving.index[i] = number[state_.moving.index[i]];
  state_.waiting.renumber(number);
  for (std::uint32_t& index : state_.fresh) index = number[index];
}

// Sets the durations of the collective's present round, if it has one.
void FluidNetwork::set_durations(Running& running) const {
  if (running.round == running.loads->rounds.size()) return;
  const RoundLoad& round = running.loads->rounds[running.round];
  running.turns = round.repeat;
  running.shape = round.shape;
  running.starts_up = (alpha_ + round.latency * 1e12) * running.pace.start_ups + running.pace.each * 1e12;
  running.moves = running.bytes * round.busiest * 1e12 * running.pace.bytes;
  running.reduces = gamma_ * round.reduced * running.bytes;
}

// Advances to `until`, to the first instant at which a collective has ended, or, after `steps` steps, to an instant
// after which nothing happens for a picosecond: from there it can go on as if it had not stopped.
FluidNetwork::Stop FluidNetwork::run(State& state, double until, std::int64_t steps) const {
  for (;; --steps) {
    if (!state.fresh.empty()) begin_rounds(state, until);
    if (!state.ended.empty()) return Stop::Ended;
    if (state.speeds_stale) set_speeds(state);
    catch_up(state, until);
    if (steps > 0 && skip_short_round(state, until)) continue;
    if (state.moving.same_shape() && background_ == 0) {
      steps = repeat_alike_rounds(state, until, steps);
      if (!state.fresh.empty()) continue;
    }

    const double next = next_instant(state);
    if (steps <= 0 && next < forever && next >= std::floor(state.now) + 2) return Stop::Patience;
    const double to = std::max(state.now, std::min(next, until));
    const bool moved = to < forever && move_bytes(state, to);
    if (next > until || next == forever) return Stop::Until;
    if (moved) end_transfers(state);
    while (state.waiting.next() <= state.now) enter_next_step(state, state.waiting.pop());
  }
}

void FluidNetwork::begin_rounds(State& state, double until) const {
  if (state.running.size() == 1 && background_ == 0) skip_rounds(state, state.running[0], until);
  for (const std::uint32_t index : state.fresh)
    if (state.running[index].round < state.running[index].loads->rounds.size())
      enter_next_step(state, index);
    else
      state.ended.push_back(index);
  state.fresh.clear();
}

double FluidNetwork::next_instant(State& state) const {
  const double next = std::min(state.waiting.next(), state.moving.next_end(state.now));
  // Rounds that move bytes meanwhile are brought up to each instant at which one is repeated.
  return own(state.moving) > 0 && state.goes_on > state.now ? std::min(next, state.goes_on) : next;
}

// Brings rounds up to the instant at which those that ended last are repeated, if nothing else happens before: that is
// a step without a look for the next instant.
void FluidNetwork::catch_up(State& state, double until) const {
  constexpr double far = 2;  // ps; the instant is within half a picosecond
  const double to = state.goes_on;
  if (to <= state.now) return;
  if (own(state.moving) == 0 || to > until || state.waiting.next() <= to || state.moving.least_left() < far) return;
  const double lasts = to - state.now;
  if (state.meeting != Meetings::none) state.met.emplace_back(state.meeting, lasts);
  state.moving.advance(lasts);
  state.now = to;
}

// Advances to `to`. Returns true if a round has moved all its bytes. REQUIRES: next_instant() was called last.
bool FluidNetwork::move_bytes(State& state, double to) const {
  if (state.meeting != Meetings::none && to > state.now) state.met.emplace_back(state.meeting, to - state.now);
  const bool moved = state.moving.advance(state.now, to);
  state.now = to;
  return moved;
}

// Ends the transfers of the rounds that have moved all their bytes.
void FluidNetwork::end_transfers(State& state) const {
  state.moving.remove_ended([&](std::uint32_t index) { enter_next_step(state, index); });
}

// Does what run() does, in a shorter loop, as long as rounds of one shape are repeated: they share all links equally.
// Returns the number of steps left.
std::int64_t FluidNetwork::repeat_alike_rounds(State& state, double until, std::int64_t steps) const {
  MovingRounds& moving = state.moving;
  if (moving.empty() && state.waiting.empty()) return steps;
  const std::uint32_t shape = moving.empty() ? state.running[state.waiting.next_index()].shape : moving.shape[0];
  std::size_t undisturbed = 0;  // rounds in succession
  for (bool only_repeats = true; only_repeats && steps > 0; --steps) {
    if (moving.empty() && skip_undisturbed_round(state, until)) {
      if (++undisturbed == state.running.size()) skip_turns(state, until), undisturbed = 0;
      continue;
    }
    undisturbed = 0;
    const double speed = 1.0 / static_cast<double>(moving.size);
    double to = state.waiting.next();
    if (!moving.empty()) {
      to = std::min(to, state.now + moving.left[moving.size - 1] / speed);
      if (state.goes_on > state.now) to = std::min(to, state.goes_on);
    }
    if (to > until || to == forever) break;
    to = std::max(to, state.now);
    const std::size_t kept = moving.advance_alike(state.now, to, speed);
    state.now = to;
    for (std::size_t i = kept; i < moving.size; ++i)
      if (!repeat(state, moving.index[i])) {
        enter_next_step(state, moving.index[i]);
        only_repeats = false;
      }
    moving.shorten(kept);
    while (state.waiting.next() <= state.now) {
      const std::uint32_t index = state.waiting.next_index();
      Running& running = state.running[index];
      only_repeats &= running.step == Step::StartUp && running.shape == shape;
      if (!only_repeats) break;
      state.waiting.pop();
      running.step = Step::Transfer;
      moving.add_alike(shape, index, running.moves);
    }
  }
  std::fill_n(moving.speed.begin(), moving.size, 1.0 / static_cast<double>(moving.size));
  state.speeds_stale = false;
  return steps;
}

// Begins the next repetition of a round that has moved its bytes, if it does by the next whole picosecond: nothing else
// can happen before.
bool FluidNetwork::repeat(State& state, std::uint32_t index) const {
  Running& running = state.running[index];
  const double begins = whole(state.now), at = begins + running.starts_up;
  if (running.reduces != 0 || at <= state.now || running.turn + 1 == running.turns || state.running.size() == 1)
    return false;
  state.goes_on = begins;
  running.step = Step::StartUp;
  running.at = at;
  ++running.turn;
  ++state.rounds;
  wait(state, index);
  return true;
}

// Ends the collective's present step, and enters the next one that takes time.
void FluidNetwork::enter_next_step(State& state, std::uint32_t index) const {
  Running& running = state.running[index];
  switch (running.step) {
    case Step::Fresh:
      ++state.rounds;
      running.step = Step::StartUp;
      running.at += running.starts_up;
      if (running.at > state.now) return wait(state, index);
      [[fallthrough]];
    case Step::StartUp:
      running.step = Step::Transfer;
      state.speeds_stale = true;
      return state.moving.add(running.shape, index, running.moves);
    case Step::Transfer:
      state.speeds_stale = true;
      if (repeat(state, index)) return;
      running.at = whole(state.now + running.reduces);
      running.step = Step::Reduction;
      if (running.at > state.now) return wait(state, index);
      [[fallthrough]];
    case Step::Reduction:
      running.step = Step::Fresh;
      if (++running.turn == running.turns) {
        running.turn = 0;
        ++running.round;
        set_durations(running);
      }
      state.fresh.push_back(index);
  }
}

void FluidNetwork::wait(State& state, std::uint32_t index) const { state.waiting.push(state.running[index].at, index); }

void FluidNetwork::set_speeds(State& state) const {
  state.speeds_stale = false;
  state.meeting = Meetings::none;
  MovingRounds& moving = state.moving;
  if (own(moving) == 0) return;
  if (moving.same_shape()) {  // the usual case: they share equally
    std::fill_n(moving.speed.begin(), moving.size, 1.0 / static_cast<double>(moving.size));
    return;
  }
  const Meetings::Id* known = known_speeds_.recall(moving);
  state.meeting = known ? *known : find_speeds(moving);
}

// Finds the speeds of rounds that move simultaneously.
Meetings::Id FluidNetwork::find_speeds(MovingRounds& moving) const {
  together_.clear();
  for (std::size_t i = 0; i < moving.size; ++i) {
    const bool background = i >= own(moving);
    const std::uint32_t shape = background ? moving.shape[i] - MovingRounds::endless : moving.shape[i];
    if (together_.empty() || together_.back().shape != shape || background) together_.push_back({shape});
    ++together_.back().count;
  }
  flows_.clear();
  for (const AlikeRounds& rounds : together_)
    flows_.push_back({(*shapes_)[rounds.shape], static_cast<double>(rounds.count), 1.0 / rounds.count});
  const std::span<const double> speeds = fair_.rates(flows_);
  auto speed = moving.speed.begin();
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    together_[i].speed = std::min(speeds[i], 1.0);
    speed = std::fill_n(speed, together_[i].count, together_[i].speed);
  }
  const Meetings::Id meeting = full_links_ ? full_links_->meeting_of(together_) : Meetings::none;
  known_speeds_.keep(moving, meeting);
  return meeting;
}

}  // namespace allreplay
