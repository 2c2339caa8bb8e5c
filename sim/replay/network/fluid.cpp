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

const auto has_less_left = [](double than, const auto& moving) { return moving.left < than; };

}  // namespace

FluidNetwork::FluidNetwork(std::vector<std::shared_ptr<const RoundLoads>> collectives,
                           std::shared_ptr<const Shapes> shapes, double alpha, double gamma, bool rates, NcclCalls nccl)
    : collectives_(std::move(collectives)),
      shapes_(std::move(shapes)),
      alpha_(alpha * 1e12),
      gamma_(gamma * 1e12),
      rates_(rates),
      nccl_(std::move(nccl)) {
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
  auto one = seen_.moving.begin();
  for (const AlikeRounds& alike : seen_.alike)
    for (const auto end = one + alike.count; one != end; ++one) {
      const Running& running = seen_.running[one->index];
      if (counted(running)) load.rate += alike.speed / (running.loads->per_byte(0) * running.pace.bytes);
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
  for (const Moving& one : state.moving) left[one.index] = one.left;
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
  for (Moving& one : state_.moving) one.index = number[one.index];
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
    if (state.running.size() == 1 && state.fresh.size() == 1 && background_shapes_.empty())
      skip_rounds(state, state.running[0], until);
    for (const std::uint32_t index : state.fresh)
      if (state.running[index].round < state.running[index].loads->rounds.size())
        enter_next_step(state, index);
      else
        state.ended.push_back(index);
    state.fresh.clear();
    if (!state.ended.empty()) return Stop::Ended;
    if (state.speeds_stale) set_speeds(state);
    if (state.alike.size() <= 1 && background_shapes_.empty()) steps = repeat_alike_rounds(state, until, steps);
    if (!state.fresh.empty()) continue;

    const double next = next_instant(state);
    if (steps <= 0 && next < forever && next >= std::floor(state.now) + 2) return Stop::Patience;
    const double to = std::max(state.now, std::min(next, until));
    const bool moved = to < forever && move_bytes(state, to);
    if (next > until || next == forever) return Stop::Until;
    if (moved) end_transfers(state);
    while (state.waiting.next() <= state.now) enter_next_step(state, state.waiting.pop());
  }
}

double FluidNetwork::next_instant(const State& state) const {
  double next = state.waiting.next();
  moved_at_.clear();
  auto end = state.moving.begin();
  for (const AlikeRounds& alike : state.alike) {
    end += alike.count;
    moved_at_.push_back(state.now + (end - 1)->left / alike.speed);
    next = std::min(next, moved_at_.back());
  }
  // Rounds that move bytes meanwhile are brought up to each instant at which one is repeated.
  return !state.moving.empty() && state.goes_on > state.now ? std::min(next, state.goes_on) : next;
}

// Advances to `to`. Returns true if a round has moved all its bytes. REQUIRES: next_instant() was called last.
bool FluidNetwork::move_bytes(State& state, double to) const {
  if (state.meeting != Meetings::none && to > state.now) state.met.emplace_back(state.meeting, to - state.now);
  bool moved = false;
  auto first = state.moving.begin();
  auto moved_at = moved_at_.begin();
  for (const AlikeRounds& alike : state.alike) {
    auto end = first + alike.count;
    const auto next = end;
    if (*moved_at++ <= to)
      for (; end != first && state.now + (end - 1)->left / alike.speed <= to; --end) (end - 1)->left = 0;
    const double way = (to - state.now) * alike.speed;
    for (; first != end; ++first) first->left -= way;
    first = next;
    moved |= (first - 1)->left <= 0;
  }
  state.now = to;
  return moved;
}

// Ends the transfers of the rounds that have moved all their bytes.
void FluidNetwork::end_transfers(State& state) const {
  auto one = state.moving.begin(), kept = one;
  for (AlikeRounds& alike : state.alike)
    for (const auto end = one + alike.count; one != end; ++one)
      if (one->left > 0) {
        *kept++ = *one;
      } else {
        --alike.count;
        enter_next_step(state, one->index);
      }
  state.moving.erase(kept, one);
  std::erase_if(state.alike, [](const AlikeRounds& alike) { return alike.count == 0; });
}

// Does what run() does, in a shorter loop, as long as rounds of one shape are repeated: they share all links equally.
// Returns the number of steps left.
std::int64_t FluidNetwork::repeat_alike_rounds(State& state, double until, std::int64_t steps) const {
  std::vector<Moving>& moving = state.moving;
  if (moving.empty() && state.waiting.empty()) return steps;
  const std::uint32_t shape = moving.empty() ? state.running[state.waiting.next_index()].shape : state.alike[0].shape;
  double speed = moving.empty() ? 0 : state.alike[0].speed;
  std::size_t undisturbed = 0;  // rounds in succession
  for (bool only_repeats = true; only_repeats && steps > 0; --steps) {
    if (moving.empty() && skip_undisturbed_round(state, until)) {
      if (++undisturbed == state.running.size()) skip_turns(state, until), undisturbed = 0;
      continue;
    }
    undisturbed = 0;
    double to = state.waiting.next();
    if (!moving.empty()) {
      to = std::min(to, state.now + moving.back().left / speed);
      if (state.goes_on > state.now) to = std::min(to, state.goes_on);
    }
    if (to > until || to == forever) break;
    to = std::max(to, state.now);
    for (auto one = moving.rbegin(); one != moving.rend() && state.now + one->left / speed <= to; ++one) one->left = 0;
    const double way = (to - state.now) * speed;
    for (Moving& one : moving) one.left -= way;
    state.now = to;
    auto ended = moving.end();
    while (ended != moving.begin() && (ended - 1)->left <= 0) --ended;
    for (auto one = ended; one != moving.end(); ++one)
      if (!repeat(state, one->index)) {
        enter_next_step(state, one->index);
        only_repeats = false;
      }
    moving.erase(ended, moving.end());
    while (state.waiting.next() <= state.now) {
      const std::uint32_t index = state.waiting.next_index();
      Running& running = state.running[index];
      only_repeats &= running.step == Step::StartUp && running.shape == shape;
      if (!only_repeats) break;
      state.waiting.pop();
      running.step = Step::Transfer;
      moving.insert(std::upper_bound(moving.begin(), moving.end(), running.moves, has_less_left),
                    {running.moves, index});
    }
    speed = 1.0 / static_cast<double>(moving.size());
  }
  state.alike.clear();
  if (!moving.empty()) state.alike.push_back({shape, static_cast<std::uint32_t>(moving.size()), speed});
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
      return move(state, index, running.moves);
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

// Starts to move the bytes of the collective's round, which take `left` ps at full speed.
void FluidNetwork::move(State& state, std::uint32_t index, double left) const {
  const std::uint32_t shape = state.running[index].shape;
  auto first = state.moving.begin();
  auto alike = state.alike.begin();
  for (; alike != state.alike.end() && alike->shape < shape; ++alike) first += alike->count;
  if (alike == state.alike.end() || alike->shape != shape) alike = state.alike.insert(alike, {shape});
  state.moving.insert(std::upper_bound(first, first + alike->count, left, has_less_left), {left, index});
  ++alike->count;
}

void FluidNetwork::set_speeds(State& state) const {
  state.speeds_stale = false;
  state.meeting = Meetings::none;
  std::vector<AlikeRounds>& alike = state.alike;
  if (alike.empty()) return;
  if (alike.size() == 1 && background_shapes_.empty()) {  // the usual case: rounds of the same shape share equally
    alike[0].speed = 1.0 / alike[0].count;
    return;
  }
  const std::size_t own = alike.size();
  for (const std::uint32_t shape : background_shapes_) alike.push_back({shape, 1});
  state.meeting = find_speeds(alike);
  alike.resize(own);
}

// Finds the speeds of rounds that move simultaneously.
Meetings::Id FluidNetwork::find_speeds(std::span<AlikeRounds> together) const {
  if (const Meetings::Id* known = known_speeds_.recall(together)) return *known;
  std::vector<SharedFlow> flows;
  for (const AlikeRounds& rounds : together)
    flows.push_back({(*shapes_)[rounds.shape], static_cast<double>(rounds.count)});
  const std::vector<double> speeds = max_min_rates(std::vector<double>(shapes_->folded_links(), 1.0), flows);
  for (std::size_t i = 0; i < speeds.size(); ++i) together[i].speed = std::min(speeds[i], 1.0);
  const Meetings::Id meeting = meetings_ ? meeting_of(together) : Meetings::none;
  known_speeds_.keep(together, meeting);
  return meeting;
}

}  // namespace allreplay
