#include "sim/replay/network/critical_path.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace allreplay {

namespace {

constexpr double unbound = std::numeric_limits<double>::infinity();
constexpr double any_size = 1e18;  // bytes; without a saving at this size there is none at any

Saving operator+(const Saving& a, const Saving& b) { return {a.start_up + b.start_up, a.per_byte + b.per_byte}; }
Saving operator-(const Saving& a, const Saving& b) { return {a.start_up - b.start_up, a.per_byte - b.per_byte}; }
Saving operator*(double times, const Saving& one) { return {times * one.start_up, times * one.per_byte}; }

// The saving of a hop against the longest hops of its round.
Saving gain(const PathRound& round, const Hop& hop) { return {round.latency - hop.latency, round.busy - hop.busy}; }

}  // namespace

// The lead over lockstep at the present round: of a slot's data (ready), of the message that it sent last (out) and
// that it received last (in), and of the last message on a channel.
struct CriticalPath::State {
  double alpha, bytes;
  std::vector<Saving> ready, out, in, channel;
  std::vector<Saving> ends{};             // by hop of the round
  std::vector<std::int64_t> active_in{};  // by slot: the latest round in which it sent or received
  std::int64_t at_round = 0;

  const Saving& smaller(const Saving& a, const Saving& b) const { return b.of(bytes) < a.of(bytes) ? b : a; }
  void set_to_smaller(Saving& one, const Saving& other) const { one = smaller(one, other); }
  // The time of a round in lockstep.
  Saving lockstep(const PathRound& round) const { return {alpha + round.latency, round.busy}; }
  // The lead with which a hop's bytes begin.
  Saving begins(const PathRound& round, const Hop& hop) const {
    const Saving started{round.latency - hop.latency, 0}, start_up{alpha + round.latency, 0};
    if (hop.channel != no_channel) return smaller(ready[hop.from], channel[hop.channel]) + started;
    return smaller(ready[hop.from] + started, smaller(out[hop.from], in[hop.into]) + start_up);
  }
};

void CriticalPath::add(PathRound round) {
  in_step_ = in_step_ && (round.wall || round.even);
  latency_ += static_cast<double>(round.repeat) * round.latency;
  busy_ += static_cast<double>(round.repeat) * round.busy;
  length_ += round.repeat;
  cycles_.push_back(round.repeat > 1 ? cycles_of(round.hops, slots_) : Cycles{});
  rounds_.push_back(std::move(round));
}

// If every slot sends and receives one message, sorts the hops along their cycles; otherwise returns no cycles.
CriticalPath::Cycles CriticalPath::cycles_of(std::vector<Hop>& hops, std::uint32_t slots) {
  constexpr std::uint32_t nobody = 0xffffffff;
  if (hops.size() != slots || hops.front().channel != no_channel) return {};
  std::vector<std::uint32_t> from(slots, nobody);
  std::vector<bool> receives(slots, false);
  for (std::uint32_t i = 0; i < slots; ++i) {
    if (from[hops[i].from] != nobody || receives[hops[i].into]) return {};
    from[hops[i].from] = i;
    receives[hops[i].into] = true;
  }
  Cycles cycles;
  std::vector<Hop> ordered;
  ordered.reserve(slots);
  for (std::uint32_t first = 0; first < slots; ++first) {
    for (std::uint32_t slot = first; from[slot] != nobody;) {
      ordered.push_back(hops[std::exchange(from[slot], nobody)]);
      slot = ordered.back().into;
    }
    if (ordered.size() > (cycles.ends.empty() ? 0 : cycles.ends.back()))
      cycles.ends.push_back(static_cast<std::uint32_t>(ordered.size()));
  }
  for (const Hop& hop : ordered) cycles.busy.push_back(hop.busy);
  std::sort(cycles.busy.begin(), cycles.busy.end());
  cycles.busy.erase(std::unique(cycles.busy.begin(), cycles.busy.end()), cycles.busy.end());
  hops = std::move(ordered);
  return cycles;
}

CriticalPath::Known& CriticalPath::known(double alpha) const {
  const auto [known, fresh] = known_.try_emplace(alpha);
  if (fresh) known->second.saves = found(known->second, alpha, any_size).of(any_size) > 0;
  return known->second;
}

bool CriticalPath::saves(double alpha) const {
  if (in_step_) return false;
  const std::lock_guard guard(mutex_);
  return known(alpha).saves;
}

std::size_t CriticalPath::hops() const {
  std::size_t sum = 0;
  for (const PathRound& round : rounds_) sum += round.hops.size();
  return sum;
}

namespace {

// The number of cells into which sizes from one power of two to the next are divided.
constexpr std::int64_t cells = 16;

}  // namespace

// The result for a cell does not depend on earlier calls.
Saving CriticalPath::saving(double alpha, double bytes) const {
  if (in_step_) return {};
  const std::lock_guard guard(mutex_);
  Known& here = known(alpha);
  if (!here.saves) return {};
  if (bytes <= 0) return found(here, alpha, 0);
  int exponent = 0;
  const double mantissa = std::frexp(bytes, &exponent);  // in [1/2, 1)
  const auto cell = static_cast<std::int64_t>((2 * mantissa - 1) * cells);
  const auto [one, fresh] = here.cells.try_emplace(exponent * cells + cell);
  if (fresh) one->second = line(here, alpha, std::ldexp(0.5, exponent), cell);
  return one->second ? *one->second : found(here, alpha, bytes);
}

// The line of a cell, if a single line covers it. If two sizes are on one line, so are all sizes between them, since
// the longest path's time is convex; so larger ranges around the cell are tried first.
std::optional<Saving> CriticalPath::line(Known& known, double alpha, double low, std::int64_t cell) const {
  constexpr double rounding = 1e-13;
  double high = 2 * low;
  for (std::int64_t half = cells / 2;; half /= 2) {
    const Saving below = found(known, alpha, low), above = found(known, alpha, high);
    const auto meet = [&](double at) {
      const double lockstep = static_cast<double>(length_) * alpha + latency_ + busy_ * at;
      return std::abs(below.of(at) - above.of(at)) <= rounding * lockstep;
    };
    if (meet(low) && meet(high)) return below;
    if (half == 0) return std::nullopt;
    ((cell & half) != 0 ? low : high) = (low + high) / 2;
  }
}

Saving CriticalPath::found(Known& known, double alpha, double bytes) const {
  const auto [one, fresh] = known.sizes.try_emplace(bytes);
  if (fresh) one->second = find(alpha, bytes);
  return one->second;
}

Saving CriticalPath::find(double alpha, double bytes) const {
  State state{alpha,
              bytes,
              std::vector(slots_, Saving{}),
              std::vector(slots_, Saving{}),
              std::vector(slots_, Saving{}),
              std::vector(channels_, Saving{})};
  state.active_in.assign(slots_, -1);
  bool in_step = true;
  for (std::size_t i = 0; i < rounds_.size(); ++i) {
    const PathRound& round = rounds_[i];
    if (in_step && (round.wall || round.even)) continue;
    in_step = false;
    const Cycles& cycles = cycles_[i];
    const auto hops = static_cast<double>(slots_), turns = static_cast<double>(round.repeat);
    if (round.wall)
      pass_wall(state);
    else if (!cycles.ends.empty() && static_cast<double>(cycles.busy.size()) * (hops + turns) < hops * turns)
      pass_cycles(state, round, cycles);
    else
      for (std::int64_t turn = 0; turn < round.repeat; ++turn) pass(state, round);
  }
  Saving least = state.ready.front();
  for (const Saving& one : state.ready) state.set_to_smaller(least, one);
  return least.of(bytes) > 0 ? least : Saving{};
}

// After a wall all slots are ready at the same time, when the last one is, and wait for no earlier message.
void CriticalPath::pass_wall(State& state) const {
  Saving last = state.ready.front();
  for (const Saving& one : state.ready) state.set_to_smaller(last, one);
  std::fill(state.ready.begin(), state.ready.end(), last);
  std::fill(state.out.begin(), state.out.end(), Saving{unbound, 0});
  std::fill(state.in.begin(), state.in.end(), Saving{unbound, 0});
}

// Passes one repetition of a round, message by message.
void CriticalPath::pass(State& state, const PathRound& round) const {
  const std::int64_t number = state.at_round++;
  state.ends.clear();
  bool on_channels = false;
  double least_latency = unbound, least_busy = unbound;
  for (const Hop& hop : round.hops) {
    state.ends.push_back(state.begins(round, hop) + Saving{0, round.busy - hop.busy});
    state.active_in[hop.from] = state.active_in[hop.into] = number;
    on_channels |= hop.channel != no_channel;
    least_latency = std::min(least_latency, hop.latency);
    least_busy = std::min(least_busy, hop.busy);
  }
  const Saving lockstep = state.lockstep(round), idles{round.latency - least_latency, round.busy - least_busy};
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    const bool waits = !on_channels && state.active_in[slot] != number;
    state.ready[slot] = state.ready[slot] + (waits ? idles : lockstep);
    state.out[slot] = state.out[slot] + lockstep;
    state.in[slot] = state.in[slot] + lockstep;
  }
  for (Saving& channel : state.channel) channel = channel + lockstep;
  for (std::size_t i = 0; i < round.hops.size(); ++i) {
    const Hop& hop = round.hops[i];
    state.set_to_smaller(state.ready[hop.into], state.ends[i]);
    state.set_to_smaller(state.out[hop.from], state.ends[i]);
    state.set_to_smaller(state.in[hop.into], state.ends[i]);
    if (hop.channel != no_channel) state.set_to_smaller(state.channel[hop.channel], state.ends[i]);
  }
}

// Passes all repetitions of a round whose hops form cycles. A path follows a window of consecutive hops, and in the
// other rounds waits at the slowest of them for messages sent earlier. Takes, for each speed, the best window with a
// hop of that speed. (A window that has a slower hop as well is credited with too short a wait, which never wins: the
// same window with the slower speed is worse.)
void CriticalPath::pass_cycles(State& state, const PathRound& round, const Cycles& cycles) const {
  const std::int64_t turns = round.repeat;
  const Saving lockstep = state.lockstep(round);
  std::vector<Saving> gains, begins;  // by hop: its gain, and the lead of its first message if a path starts there
  std::vector<Saving> gained, first, best;  // the gains up to a hop; `begins` less these; the lead of its last message
  std::vector<std::pair<double, std::int64_t>> windows;  // candidates: value and first hop
  std::uint32_t begin = 0;
  for (const std::uint32_t end : cycles.ends) {
    const std::int64_t length = end - begin, laps = (turns - 1 + length - 1) / length, all = (laps + 1) * length;
    const Hop* hops = &round.hops[begin];
    gains.clear();
    begins.clear();
    for (const Hop* hop = hops; hop != hops + length; ++hop) {
      gains.push_back(gain(round, *hop));
      begins.push_back(state.begins(round, *hop) - Saving{round.latency - hop->latency, 0});
    }
    gained.assign(1, {});
    gained.reserve(static_cast<std::size_t>(all + 1));
    first.clear();
    first.reserve(static_cast<std::size_t>(all));
    best.assign(static_cast<std::size_t>(length), {unbound, 0});
    const auto next = [&](std::int64_t at) { return at + 1 == length ? 0 : at + 1; };
    for (std::int64_t i = 0, at = 0; i < all; ++i, at = next(at)) {
      first.push_back(begins[at] - gained.back());
      gained.push_back(gained.back() + gains[at]);
    }
    for (const double busy : cycles.busy) {
      const Saving waits{lockstep.start_up, round.busy - busy};
      const double wait = waits.of(state.bytes);
      windows.clear();
      std::size_t oldest = 0;
      std::int64_t begun = 0;
      for (std::int64_t i = 0, at = 0; i < all; ++i, at = next(at)) {
        if (hops[at].busy == busy)
          for (; begun <= i; ++begun) {
            const double value = first[begun].of(state.bytes) + static_cast<double>(begun) * wait;
            while (windows.size() > oldest && windows.back().first >= value) windows.pop_back();
            windows.emplace_back(value, begun);
          }
        while (oldest < windows.size() && windows[oldest].second <= i - turns) ++oldest;
        if (i < all - length || oldest == windows.size()) continue;
        const std::int64_t from = windows[oldest].second;
        state.set_to_smaller(best[at],
                             first[from] + gained[i + 1] + static_cast<double>(turns - 1 - (i - from)) * waits);
      }
    }
    for (std::int64_t i = 0; i < length; ++i) {
      Saving& ready = state.ready[hops[i].into];
      ready = state.smaller(best[i], ready + static_cast<double>(turns) * lockstep);
      state.out[hops[i].from] = state.in[hops[i].into] = best[i];
    }
    begin = end;
  }
}

}  // namespace allreplay
