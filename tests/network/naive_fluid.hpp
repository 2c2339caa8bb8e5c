// The fidelity `fluid` a second time, as plainly as can be: at every instant every collective is looked at, and the
// whole future is tried again with every start.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "sim/engine/server.hpp"
#include "sim/network/max_min.hpp"
#include "sim/network/round_load.hpp"

namespace allreplay {

class NaiveFluid final : public Server {
 public:
  NaiveFluid(std::vector<std::shared_ptr<const RoundLoads>> collectives, std::shared_ptr<const Shapes> shapes,
             double alpha, double gamma);

  void start(TaskId id, const Task& task, Time now) override;
  Time next_completion() const override;
  void complete(Time now, std::vector<TaskId>& done) override;
  Load load() const override { return {static_cast<std::int64_t>(state_.running.size()), 0}; }
  /// Rounds begun.
  std::int64_t events() const override { return state_.rounds; }

 private:
  static constexpr double forever = std::numeric_limits<double>::infinity();
  static double whole(double ps) { return std::floor(ps + 0.5); }

  enum class Step : std::uint8_t { Fresh, StartUp, Transfer, Reduction };

  struct Running {
    TaskId id;
    const RoundLoads* loads;
    double bytes;
    std::size_t round;  // the distinct one,
    std::int64_t turn;  // and which repetition
    Step step;
    double at;     // Fresh: its beginning; StartUp, Reduction: their end
    double left;   // Transfer: ps at full speed
    double speed;  // Transfer: the fraction of it
  };
  // Everything that time changes, so that the future can be tried on a copy. Times are ps since `origin_`; the
  // beginnings of rounds are whole.
  struct State {
    double now = 0;
    std::vector<Running> running;  // in the order of their starts
    std::int64_t rounds = 0;
    bool speeds_stale = false;
  };

  bool run(State& state, double until) const;
  void skip_rounds(State& state, Running& running, double until) const;
  void settle_step(State& state, Running& running) const;
  void set_speeds(State& state) const;
  std::vector<double> speeds_of(const std::vector<std::pair<std::uint32_t, std::int64_t>>& shapes) const;
  double start_up(const Running& running) const;
  double reduction(const Running& running) const;
  double relative(Time now) const { return static_cast<double>((now - origin_).count()); }

  std::vector<std::shared_ptr<const RoundLoads>> collectives_;
  std::shared_ptr<const Shapes> shapes_;
  double alpha_, gamma_;  // ps, ps per byte
  Time origin_{0};
  State state_;
  mutable std::optional<State> ahead_;  // the state at the next completion, if nothing starts before
};

inline NaiveFluid::NaiveFluid(std::vector<std::shared_ptr<const RoundLoads>> collectives,
                              std::shared_ptr<const Shapes> shapes, double alpha, double gamma)
    : collectives_(std::move(collectives)), shapes_(std::move(shapes)), alpha_(alpha * 1e12), gamma_(gamma * 1e12) {}

inline void NaiveFluid::start(TaskId id, const Task& task, Time now) {
  if (state_.running.empty()) {
    origin_ = now;
    state_.now = 0;
  }
  ahead_.reset();
  run(state_, relative(now));
  const RoundLoads* loads = collectives_[task.call_id].get();
  Running running{id, loads, task.bytes, 0, 0, Step::Fresh, relative(now), 0, 0};
  if (task.bytes <= 0) running.round = loads->rounds.size();
  state_.running.push_back(running);
}

inline Time NaiveFluid::next_completion() const {
  if (state_.running.empty()) return never;
  if (!ahead_) {
    ahead_ = state_;
    run(*ahead_, NaiveFluid::forever);
  }
  double end = NaiveFluid::forever;
  for (const Running& running : ahead_->running)
    if (running.round == running.loads->rounds.size()) end = std::min(end, running.at);
  return add(origin_, from_picoseconds(end));
}

inline void NaiveFluid::complete(Time now, std::vector<TaskId>& done) {
  if (now != next_completion()) return;
  state_ = std::move(*ahead_);
  ahead_.reset();
  const double at = relative(now);
  std::erase_if(state_.running, [&](const Running& running) {
    if (running.round < running.loads->rounds.size() || running.at > at) return false;
    done.push_back(running.id);
    return true;
  });
}

inline double NaiveFluid::start_up(const Running& running) const {
  return alpha_ + running.loads->rounds[running.round].latency * 1e12;
}

inline double NaiveFluid::reduction(const Running& running) const {
  return gamma_ * running.loads->rounds[running.round].reduced * running.bytes;
}

// Goes on to `until`, or to the first instant at which a collective has ended; true if one has.
inline bool NaiveFluid::run(State& state, double until) const {
  for (;;) {
    if (state.running.size() == 1 && state.running[0].step == Step::Fresh) skip_rounds(state, state.running[0], until);
    bool ended = false;
    for (Running& running : state.running) {
      if (running.round == running.loads->rounds.size())
        ended = true;
      else if (running.step == Step::Fresh)
        settle_step(state, running);
    }
    if (ended) return true;
    if (state.speeds_stale) set_speeds(state);

    double next = NaiveFluid::forever;
    for (const Running& running : state.running)
      next = std::min(next, running.step == Step::Transfer ? state.now + running.left / running.speed : running.at);
    const double to = std::max(state.now, std::min(next, until));
    if (to < NaiveFluid::forever) {
      for (Running& running : state.running)
        if (running.step == Step::Transfer)
          running.left =
              state.now + running.left / running.speed <= to ? 0 : running.left - (to - state.now) * running.speed;
      state.now = to;
    }
    if (next > until || next == NaiveFluid::forever) return false;
    for (Running& running : state.running)
      if (running.step == Step::Transfer ? running.left <= 0 : running.at <= state.now) settle_step(state, running);
  }
}

// Whole rounds of a collective that is alone, as many as end by `until`.
inline void NaiveFluid::skip_rounds(State& state, Running& running, double until) const {
  const std::vector<RoundLoad>& rounds = running.loads->rounds;
  while (running.round < rounds.size()) {
    const double lasts = NaiveFluid::whole(start_up(running) + running.bytes * rounds[running.round].busiest * 1e12 +
                                           reduction(running));
    const std::int64_t turns = rounds[running.round].repeat - running.turn;
    const double fit = std::floor((until - running.at) / lasts);
    const std::int64_t skipped =
        lasts > 0 && fit < static_cast<double>(turns) ? static_cast<std::int64_t>(std::max(0.0, fit)) : turns;
    running.at += static_cast<double>(skipped) * lasts;
    running.turn += skipped;
    state.rounds += skipped;
    state.now = std::max(state.now, running.at);
    if (running.turn < rounds[running.round].repeat) return;
    running.turn = 0;
    ++running.round;
  }
}

// The stage that it is in has ended: on to the next that takes time.
inline void NaiveFluid::settle_step(State& state, Running& running) const {
  const RoundLoad& load = running.loads->rounds[running.round];
  switch (running.step) {
    case Step::Fresh:
      ++state.rounds;
      running.step = Step::StartUp;
      running.at += start_up(running);
      if (running.at > state.now) return;
      [[fallthrough]];
    case Step::StartUp:
      running.step = Step::Transfer;
      running.left = running.bytes * load.busiest * 1e12;
      running.speed = 1;
      state.speeds_stale = true;
      return;
    case Step::Transfer:
      running.step = Step::Reduction;
      running.at = NaiveFluid::whole(state.now + reduction(running));
      state.speeds_stale = true;
      if (running.at > state.now) return;
      [[fallthrough]];
    case Step::Reduction:
      running.step = Step::Fresh;
      if (++running.turn < load.repeat) return;
      running.turn = 0;
      ++running.round;
  }
}

inline void NaiveFluid::set_speeds(State& state) const {
  state.speeds_stale = false;
  const auto shape_of = [](const Running& running) { return running.loads->rounds[running.round].shape; };
  // Mostly all are alike, and share equally.
  std::int64_t count = 0;
  bool alike = true;
  std::uint32_t first = 0;
  for (const Running& running : state.running) {
    if (running.step != Step::Transfer) continue;
    if (count++ == 0) first = shape_of(running);
    alike = alike && shape_of(running) == first;
  }
  if (alike) {
    for (Running& running : state.running) running.speed = 1 / static_cast<double>(count);
    return;
  }
  std::vector<std::pair<std::uint32_t, std::int64_t>> shapes;
  for (const Running& running : state.running) {
    if (running.step != Step::Transfer) continue;
    const auto place = std::lower_bound(shapes.begin(), shapes.end(), std::pair(shape_of(running), std::int64_t{0}));
    if (place != shapes.end() && place->first == shape_of(running))
      ++place->second;
    else
      shapes.insert(place, {shape_of(running), 1});
  }
  const std::vector<double> speeds = speeds_of(shapes);
  for (Running& running : state.running) {
    if (running.step != Step::Transfer) continue;
    const auto place = std::lower_bound(shapes.begin(), shapes.end(), std::pair(shape_of(running), std::int64_t{0}));
    running.speed = speeds[place - shapes.begin()];
  }
}

inline std::vector<double> NaiveFluid::speeds_of(
    const std::vector<std::pair<std::uint32_t, std::int64_t>>& shapes) const {
  std::vector<SharedFlow> flows;
  for (const auto& [shape, count] : shapes) flows.push_back({(*shapes_)[shape], static_cast<double>(count)});
  std::vector<double> speeds = max_min_rates(std::vector<double>(shapes_->folded_links(), 1.0), flows);
  for (double& speed : speeds) speed = std::min(speed, 1.0);
  return speeds;
}

}  // namespace allreplay
