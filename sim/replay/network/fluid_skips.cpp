// Rounds that nothing disturbs: they need not be simulated step by step.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/replay/network/fluid.hpp"
#include "sim/replay/network/whole_ps.hpp"

namespace allreplay {

// Skips as many whole rounds of a single collective as end by `until`.
void FluidNetwork::skip_rounds(State& state, Running& running, double until) const {
  const std::vector<RoundLoad>& rounds = running.loads->rounds;
  while (running.round < rounds.size()) {
    const double lasts = whole(running.starts_up + running.moves + running.reduces);
    const std::int64_t turns = running.turns - running.turn;
    const double fit = std::floor((until - running.at) / lasts);
    const std::int64_t skipped =
        lasts > 0 && fit < static_cast<double>(turns) ? static_cast<std::int64_t>(std::max(0.0, fit)) : turns;
    running.at += static_cast<double>(skipped) * lasts;
    running.turn += skipped;
    state.rounds += skipped;
    state.now = std::max(state.now, running.at);
    if (running.turn < running.turns) return;
    running.turn = 0;
    ++running.round;
    set_durations(running);
  }
}

// While no bytes are moving, skips the round of the collective whose start-up ends next, if the round ends before
// anything else happens and is repeated.
bool FluidNetwork::skip_undisturbed_round(State& state, double until) const {
  const WaitingLine::Instant* next = state.waiting.first();
  if (!next) return false;
  Running& running = state.running[next->index];
  if (running.step != Step::StartUp || running.turn + 1 == running.turns) return false;
  const double moved = next->at + running.moves;
  const double end = whole(moved + running.reduces);
  const double over = std::max(moved, end), at = end + running.starts_up;
  if (over >= state.waiting.second() || over > until || at <= over) return false;
  state.now = over;
  running.at = at;
  ++running.turn;
  ++state.rounds;
  state.waiting.push(at, state.waiting.pop());
  return true;
}

// Skips the round of the collective whose start-up ends next, if the round ends before anything else happens and is
// repeated: then the others move at the speeds of those that move now, of these and the round, and of these again.
bool FluidNetwork::skip_short_round(State& state, double until) const {
  MovingRounds& moving = state.moving;
  const WaitingLine::Instant* next = state.waiting.first();
  if (!next || own(moving) == 0 || state.goes_on > state.now) return false;
  Running& running = state.running[next->index];
  if (running.step != Step::StartUp || running.reduces != 0 || running.turn + 1 == running.turns) return false;
  const double begins = std::max(state.now, next->at), second = state.waiting.second();
  if (begins + running.moves >= second) return false;  // even at full speed
  const std::size_t place = moving.place_of(running.shape);
  if (place < moving.size && moving.shape[place] == running.shape) return false;
  const KnownSpeeds::WithOneMore with = known_speeds_.recall(moving, running.shape, place);
  if (!with.known) return false;
  const double moved = begins + running.moves / with.its_speed();
  const double goes_on = whole(moved), at = goes_on + running.starts_up, over = std::max(moved, goes_on);
  if (over >= second || over > until || at <= moved) return false;
  const double far = 2 + over * 1e-15;  // ps, beyond what is rounded
  const auto speed_meanwhile = [&](std::size_t i) { return with.speed_of(i); };
  if (!moving.advance_around(begins - state.now, moved - begins, over - moved, speed_meanwhile, far)) return false;
  if (state.meeting != Meetings::none) state.met.emplace_back(state.meeting, begins - state.now);
  if (with.known->meeting != Meetings::none) state.met.emplace_back(with.known->meeting, moved - begins);
  if (state.meeting != Meetings::none) state.met.emplace_back(state.meeting, over - moved);
  state.now = over;
  state.goes_on = goes_on;
  running.at = at;
  ++running.turn;
  ++state.rounds;
  state.waiting.push(at, state.waiting.pop());
  return true;
}

namespace {

constexpr double margin = 2;  // ps; more than all rounding

// A round that is repeated: the next one begins a whole number of ps later.
struct Repeated {
  double begins, starts_up, moves, reduces, period;

  double starts(double turns) const { return begins + turns * period + starts_up; }
  double over(double turns) const {
    const double moved = starts(turns) + moves;
    return std::max(moved, whole(moved + reduces));
  }
};

// A number of turns, by `until`, in which each round is over before the next one of the list moves its bytes (after the
// last one comes the first one's repetition), and after which they are in the same order.
double turns_apart(const std::vector<Repeated>& rounds, double until) {
  double turns = std::numeric_limits<double>::infinity();
  const auto at_most = [&](double gap, double shrinks) {
    if (gap < margin) turns = 0;
    if (shrinks > 0) turns = std::min(turns, std::floor((gap - margin) / shrinks));
  };
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const bool last = i + 1 == rounds.size();
    const Repeated &one = rounds[i], &next = rounds[last ? 0 : i + 1];
    at_most(next.starts(last ? 1 : 0) - one.over(0), one.period - next.period);
    if (last) at_most(until - one.over(0), one.period);
  }
  return turns;
}

}  // namespace

// While no bytes are moving and collectives take turns (a round of each after a round of each), skips all turns that
// nothing disturbs. The result is that of single steps, to the bit: rounds begin at whole picoseconds, and a round
// whose length is so near to half a picosecond that rounding at a later instant might go the other way is not skipped.
void FluidNetwork::skip_turns(State& state, double until) const {
  std::vector<std::uint32_t> order;
  std::vector<Repeated> rounds;
  double turns = std::numeric_limits<double>::max();
  while (!state.waiting.empty()) {
    order.push_back(state.waiting.pop());
    const Running& one = state.running[order.back()];
    const double lasts = one.starts_up + one.moves + one.reduces, left = static_cast<double>(one.turns - one.turn - 1);
    rounds.push_back({whole(one.at - one.starts_up), one.starts_up, one.moves, one.reduces, whole(lasts)});
    const double rounding = std::ldexp(one.at + (left + 1) * lasts, -50);
    const bool regular = one.step == Step::StartUp && one.starts_up >= margin && rounds.back().starts(0) == one.at &&
                         std::abs(lasts + 0.5 - std::round(lasts + 0.5)) > rounding;
    turns = std::min(turns, regular ? left : 0);
  }
  turns = std::min(turns, turns_apart(rounds, until));
  if (turns > 0) state.now = rounds.back().over(turns - 1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    Running& one = state.running[order[i]];
    if (turns > 0) {
      one.at = rounds[i].starts(turns);
      one.turn += static_cast<std::int64_t>(turns);
      state.rounds += static_cast<std::int64_t>(turns);
    }
    state.waiting.push(one.at, order[i]);
  }
}

}  // namespace allreplay
