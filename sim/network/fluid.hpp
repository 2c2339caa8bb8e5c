// The fidelity `fluid`: a collective's rounds in lockstep, each a flow with its load on every link.
//
// A round lasts α and its longest route latency, then its bytes, then γ for the most bytes that one rank reduces. Its
// bytes take the busiest link's bytes / bandwidth when no other collective's are on their way. Where ranks need not
// wait for all others in every round, the start-ups and the bytes of all rounds take their part less
// (RoundLoads::pace), so that a collective alone takes as long as its longest path. With others on their way it moves
// at a fraction x of that speed, and the fractions are max-min fair: a round at x uses x·u of a link's bandwidth, u
// being 1 on its busiest link. A round's end is rounded to the picosecond.
//
// Where links change, a round goes on with the part of its bytes that is left, at the speed of what they are now.
//
// Folding: a collective that is alone ends all its rounds at once, by multiplication; the rounds are taken apart only
// when another one starts.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/collective/call.hpp"
#include "sim/engine/server.hpp"
#include "sim/network/known_speeds.hpp"
#include "sim/network/meetings.hpp"
#include "sim/network/nccl_on_links.hpp"
#include "sim/network/round_load.hpp"
#include "sim/network/waiting_line.hpp"

namespace allreplay {

class FluidNetwork final : public NetworkOfJobs {
 public:
  /// `rates`: somebody asks for Load::rate. `nccl`: of calls that go as it chooses; behind the calls' own collectives
  /// stand others of theirs.
  FluidNetwork(std::vector<std::shared_ptr<const RoundLoads>> collectives, std::shared_ptr<const Shapes> shapes,
               double alpha, double gamma, bool rates = false, NcclCalls nccl = {});

  /// Calls are those of several jobs, by number. `meetings`: who met whom is noted there; null: nobody asks. REQUIRES:
  /// it is idle; Shapes are kept whole for meetings, which outlive it.
  void serve(std::vector<std::uint32_t> job_of_call, Meetings* meetings);

  /// The same collectives on links that have changed, and what NCCL sends there. `others`: see set_others().
  void lay(std::vector<std::shared_ptr<const RoundLoads>> collectives, std::shared_ptr<const Shapes> shapes,
           NcclCalls nccl, std::vector<std::uint32_t> others, Time now);

  /// Flows of these shapes that never end are on their way from now on, until others are.
  void set_others(std::vector<std::uint32_t> shapes, Time now);

  void start(TaskId id, const Task& task, Time now) override;
  /// Or how far it has looked ahead: others may start before all of the future is needed.
  Time next_completion() const override;
  void complete(Time now, std::vector<TaskId>& done) override;
  bool wakeup_is_tentative() const override {
    return ahead_stopped_ == Stop::Patience && (!rates_ || next_end() < next_change());
  }
  /// Each collective moves its bytes at the same rate in all of its rounds where it is alone, and at none while a
  /// round starts up or is reduced.
  Load load() const override;
  Load load_of(const WhichCalls& which) const override;
  std::vector<double> met(Time now) const override;
  void describe(Time now, const TaskNames& name, std::vector<std::int64_t>& state) const override;
  /// Rounds begun.
  std::int64_t events() const override { return state_.rounds; }

 private:
  enum class Step : std::uint8_t { Fresh, StartUp, Transfer, Reduction };

  struct Running {
    TaskId id;
    CallId call;
    CallId way;  // the collective that it takes: the call's own, or of NCCL's choice another
    const RoundLoads* loads;
    double bytes;
    Pace pace;
    std::size_t round;  // the distinct one,
    std::int64_t turn;  // and which repetition
    Step step;
    double at;                               // Fresh: its beginning; StartUp, Reduction: their end
    double starts_up{}, moves{}, reduces{};  // ps that the round does, its bytes at full speed
  };
  // A round whose bytes are on their way.
  struct Moving {
    double left;        // ps at full speed
    std::uint32_t who;  // of State::running
  };
  // Everything that time changes, so that the future can be tried on a copy. Times are ps since `origin_`; the
  // beginnings of rounds are whole.
  struct State {
    double now = 0;
    std::vector<Running> running;      // in the order of their starts
    std::vector<AlikeRounds> alike;    // whose bytes are on their way, by shape
    std::vector<Moving> moving;        // each of those, as they stand there; the least left of a shape is the last
    WaitingLine waiting;               // StartUp, Reduction
    std::vector<std::uint32_t> fresh;  // their round has not begun
    std::vector<std::uint32_t> ended;  // no round is left
    std::int64_t rounds = 0;
    bool speeds_stale = false;
    Meetings::Id meeting = Meetings::none;             // at these speeds
    std::vector<std::pair<Meetings::Id, double>> met;  // and before them, each so long, since settled
  };
  enum class Stop : std::uint8_t { Ended, Until, Patience };

  Time next_end() const;
  Time next_change() const;
  template <class Counted>
  Load load_if(const Counted& counted) const;
  std::uint32_t job_of(const Running& running) const { return job_of_call_.empty() ? 0 : job_of_call_[running.call]; }
  void know_jobs();
  void go_on(Time now);
  State state_at(Time now) const;
  void settle_meetings();
  void see(Time now);
  Stop run(State& state, double until, std::int64_t steps) const;
  void skip_rounds(State& state, Running& running, double until) const;
  std::int64_t pass_unmet(State& state, double until, std::int64_t steps) const;
  void settle_step(State& state, std::uint32_t who) const;
  void wait(State& state, std::uint32_t who) const;
  void move(State& state, std::uint32_t who, double left) const;
  double next_instant(const State& state) const;
  bool move_on(State& state, double to) const;
  void settle_moved(State& state) const;
  void set_speeds(State& state) const;
  Meetings::Id share(std::span<AlikeRounds> together) const;
  Meetings::Id meeting_of(std::span<const AlikeRounds> together) const;
  void forget_ended(double at, std::vector<TaskId>& done);
  void enter_round(Running& running) const;
  double relative(Time now) const { return static_cast<double>((now - origin_).count()); }

  std::vector<std::shared_ptr<const RoundLoads>> collectives_;
  std::shared_ptr<const Shapes> shapes_;
  double alpha_, gamma_;  // ps, ps per byte
  bool rates_;
  NcclCalls nccl_;
  Time origin_{0};
  State state_;
  State seen_;           // where rates are asked for: the state at the last instant
  mutable State ahead_;  // the state at the next completion, if nothing starts before, or on the way there
  mutable std::optional<Stop> ahead_stopped_;
  std::vector<std::uint32_t> others_;  // shapes of flows that never end
  std::vector<std::uint32_t> job_of_call_;
  Meetings* meetings_ = nullptr;
  // Where somebody asks for meetings: by shape, whose it is (of others: nobody), and its uses of links that shapes of
  // several jobs use, which are numbered.
  std::vector<std::uint32_t> job_of_shape_;
  std::vector<Shape> meeting_uses_;
  std::vector<LinkId> meeting_links_;
  mutable KnownSpeeds known_speeds_;
  mutable std::vector<double> moved_at_;  // by alike rounds: when the first of them has moved its bytes, ps
};

}  // namespace allreplay
