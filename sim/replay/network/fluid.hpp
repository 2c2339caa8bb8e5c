// The fidelity `fluid`: a collective's rounds in lockstep, each round a single flow that loads many links.
//
// A round lasts α and its longest route latency, then the time of its bytes, then γ for the most bytes that one rank
// reduces. Without other collectives, its bytes take the busiest link's bytes / bandwidth. If ranks need not wait for
// all others in every round, the start-ups and the bytes of all rounds are shortened (RoundLoads::pace), so that a
// single collective takes as long as its longest path. While other collectives move bytes, it moves at a fraction x of
// that speed. These fractions are max-min fair: a round at x uses x·u of a link's bandwidth, where u is 1 on its
// busiest link. A round's end is rounded to the picosecond.
//
// If links change, a round goes on with the remaining part of its bytes, at the speed of the new links.
//
// All rounds of a collective that has the network to itself are computed in one step, by multiplication. They are
// simulated one by one only once another collective starts.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/plans/collective/call.hpp"
#include "sim/replay/engine/server.hpp"
#include "sim/replay/network/full_links.hpp"
#include "sim/replay/network/known_speeds.hpp"
#include "sim/replay/network/max_min.hpp"
#include "sim/replay/network/meetings.hpp"
#include "sim/replay/network/nccl_on_links.hpp"
#include "sim/replay/network/round_load.hpp"
#include "sim/replay/network/waiting_line.hpp"

namespace allreplay {

class FluidNetwork final : public NetworkOfJobs {
 public:
  /// `rates`: load() sets Load::rate. `nccl`: the calls for which NCCL chooses an algorithm by size; `collectives` has
  /// their other algorithms after one entry per call.
  FluidNetwork(std::vector<std::shared_ptr<const RoundLoads>> collectives, std::shared_ptr<const Shapes> shapes,
               double alpha, double gamma, bool rates = false, NcclCalls nccl = {});

  /// Assigns each call to a job, and records meetings of jobs in `meetings` unless it is null. REQUIRES: the network is
  /// idle; for meetings, Shapes keep whole shapes, and `meetings` outlives the network.
  void serve(std::vector<std::uint32_t> job_of_call, Meetings* meetings);

  /// Replaces the links: `collectives` and `nccl` are the same ones on the new links. `others`: see set_other_loads().
  void lay(std::vector<std::shared_ptr<const RoundLoads>> collectives, std::shared_ptr<const Shapes> shapes,
           NcclCalls nccl, std::vector<std::uint32_t> others, Time now);

  /// Sets the background flows: one of each of these shapes, which never ends.
  void set_other_loads(std::vector<std::uint32_t> shapes, Time now);

  void start(TaskId id, const Task& task, Time now) override;
  /// May be the end of the look-ahead only: another collective may start before the rest of the future is needed.
  Time next_completion() const override;
  void complete(Time now, std::vector<TaskId>& done) override;
  bool wakeup_is_tentative() const override {
    return ahead_stopped_ == Stop::Patience && (!rates_ || next_end() < next_change());
  }
  /// A single collective has the same rate in the transfers of all its rounds, and 0 in start-ups and reductions.
  Load load() const override;
  Load load_of(const WhichCalls& which) const override;
  std::vector<double> met(Time now) const override;
  void describe(Time now, const TaskNames& name, std::vector<std::int64_t>& state) const override;
  /// The number of rounds begun.
  std::int64_t events() const override { return state_.rounds; }

 private:
  enum class Step : std::uint8_t { Fresh, StartUp, Transfer, Reduction };

  // The first members, up to `step`, are all that most steps need: one cache line.
  struct alignas(64) Running {
    std::size_t round = 0;                   // the number of the distinct round
    std::int64_t turn = 0, turns{};          // its repetition; their number
    double starts_up{}, moves{}, reduces{};  // the durations of the round's steps at full speed, ps
    double at;                               // Fresh: its beginning; StartUp, Reduction: their end
    std::uint32_t shape{};                   // of the round
    Step step = Step::Fresh;

    TaskId id;
    CallId call;
    CallId way;  // the collective that is sent: the call's own, or another algorithm that NCCL chooses
    const RoundLoads* loads;
    double bytes;
    Pace pace{};
  };
  // Everything that time changes, to look ahead on a copy. Times are ps since `origin_`, whole where rounds begin.
  struct State {
    double now = 0;
    std::vector<Running> running;      // in the order of their starts
    MovingRounds moving;               // with the background flows
    WaitingLine waiting;               // those in StartUp or Reduction
    std::vector<std::uint32_t> fresh;  // those whose round has not begun
    std::vector<std::uint32_t> ended;  // those without another round
    std::int64_t rounds = 0;
    double goes_on = 0;  // the instant at which the rounds that ended last are repeated
    bool speeds_stale = false;
    Meetings::Id meeting = Meetings::none;             // the meeting at the present speeds
    std::vector<std::pair<Meetings::Id, double>> met;  // earlier ones with their durations, since settle_meetings()
  };
  enum class Stop : std::uint8_t { Ended, Until, Patience };

  Time next_end() const;
  Time next_change() const;
  template <class Counted>
  Load load_if(const Counted& counted) const;
  std::uint32_t job_of(const Running& running) const { return job_of_call_.empty() ? 0 : job_of_call_[running.call]; }
  // The number of those that are not background flows.
  std::size_t own(const MovingRounds& moving) const { return moving.size - background_; }
  void set_background(std::span<const std::uint32_t> shapes);
  void advance_to(Time now);
  State state_at(Time now) const;
  void settle_meetings();
  void update_seen(Time now);
  Stop run(State& state, double until, std::int64_t steps) const;
  void skip_rounds(State& state, Running& running, double until) const;
  bool skip_undisturbed_round(State& state, double until) const;
  void skip_turns(State& state, double until) const;
  bool skip_short_round(State& state, double until) const;
  bool repeat(State& state, std::uint32_t index) const;
  std::int64_t repeat_alike_rounds(State& state, double until, std::int64_t steps) const;
  void enter_next_step(State& state, std::uint32_t index) const;
  void wait(State& state, std::uint32_t index) const;
  double next_instant(State& state) const;
  void begin_rounds(State& state, double until) const;
  void catch_up(State& state, double until) const;
  bool move_bytes(State& state, double to) const;
  void end_transfers(State& state) const;
  void set_speeds(State& state) const;
  Meetings::Id find_speeds(MovingRounds& moving) const;
  void remove_ended(double at, std::vector<TaskId>& done);
  void set_durations(Running& running) const;
  double relative(Time now) const { return static_cast<double>((now - origin_).count()); }

  std::vector<std::shared_ptr<const RoundLoads>> collectives_;
  std::shared_ptr<const Shapes> shapes_;
  double alpha_, gamma_;  // ps, ps per byte
  bool rates_;
  NcclCalls nccl_;
  Time origin_{0};
  State state_;
  mutable State seen_;   // with rates_: the state at the last instant
  mutable State ahead_;  // the state at the next completion if nothing starts before, or on the way there
  mutable std::optional<Stop> ahead_stopped_;
  std::size_t background_ = 0;  // the number of flows that never end
  std::vector<std::uint32_t> job_of_call_;
  Meetings* meetings_ = nullptr;
  mutable std::optional<FullLinks> full_links_;  // for meetings_
  mutable MaxMin fair_;
  mutable std::vector<AlikeRounds> together_;  // for find_speeds()
  mutable std::vector<SharedFlow> flows_;      // for find_speeds()
  mutable KnownSpeeds known_speeds_;
};

}  // namespace allreplay
