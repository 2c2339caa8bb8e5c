// The fidelity `message`: every message of every worker.
//
// A message leaves when its data are available (rounds.hpp), takes α and its route's latencies, then shares its links
// with all messages in flight, of this and other collectives, by max-min fairness. At the receiver it waits for earlier
// reductions there, and is reduced. A message of several parts (ecmp) has a start-up and a route for each part, and has
// arrived with the last. Only instants are rounded, to the picosecond: the remainder is carried into the next step of
// the same message.
//
// Streams send and receive round by round: the bytes of a message that is on no channel begin to flow when those of all
// earlier rounds have left its sender's stream and have arrived in its receiver's. Start-ups pass meanwhile.
//
// If ranks start separately, a rank sends nothing before it starts, and arrivals wait for its start. A task ends when
// all ranks have started and have received everything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/plans/collective/call.hpp"
#include "sim/replay/engine/server.hpp"
#include "sim/replay/network/fair_links.hpp"
#include "sim/replay/network/instants.hpp"
#include "sim/replay/network/meetings.hpp"
#include "sim/replay/network/nccl_on_links.hpp"
#include "sim/replay/network/rendezvous.hpp"
#include "sim/replay/network/routed_rounds.hpp"

namespace allreplay {

class MessageNetwork final : public NetworkOfJobs {
 public:
  /// `parties`: the ranks that start with each join(); empty: all ranks start with the task. `nccl`: the calls for
  /// which NCCL chooses an algorithm by size; `collectives` has their other algorithms after one entry per call.
  MessageNetwork(std::vector<std::shared_ptr<const RoutedRounds>> collectives, std::span<const Link> links,
                 double gamma, Parties parties = {}, NcclCalls nccl = {});

  /// Assigns calls to jobs, and records their meetings unless null. REQUIRES: it is idle, and `meetings` outlives it.
  void serve(std::vector<std::uint32_t> job_of_call, Meetings* meetings);

  /// Replaces the links: `collectives` are the same ones on the new links. Messages in flight go on over new routes.
  void lay(std::vector<std::shared_ptr<const RoutedRounds>> collectives, std::span<const Link> links, Time now);

  /// Sets the route of an endless background flow; without links it pauses. REQUIRES: `way` outlives that.
  void set_other(std::uint32_t number, std::span<const LinkId> way, Time now);

  void start(TaskId id, const Task& task, Time now) override;
  void join(TaskId id, std::uint32_t party, Time now) override;
  Time next_completion() const override { return instants_.next(); }
  void complete(Time now, std::vector<TaskId>& done) override;
  Load load() const override { return {static_cast<std::int64_t>(running_.size() - idle_running_.size()), 0}; }
  Load load_of(const WhichCalls& which) const override;
  std::vector<double> met(Time now) const override;
  void describe(Time now, const TaskNames& name, std::vector<std::int64_t>& state) const override;
  /// The number of messages sent.
  std::int64_t events() const override { return sent_; }

 private:
  static constexpr std::uint32_t nobody = 0xffffffff;

  // The missing messages of a round. Kept from when the first slot sends in it until all slots have moved on.
  struct Progress {
    const RoutedRound* round = nullptr;
    std::vector<std::uint32_t> missing;  // by slot
    std::uint32_t moved_on = 0;
  };
  struct Waiting {
    const RoutedMessage* message;
    std::uint32_t round;
  };
  struct Channel {
    bool busy = false;
    std::vector<Waiting> queue;
    std::size_t served = 0;  // the number of entries that have left the queue
  };
  // The order of messages that leave a slot, or arrive there: one round after another.
  struct Line {
    std::uint32_t round = 0;                     // the round whose bytes are passing
    std::uint32_t left = 0;                      // its messages that have not passed
    std::uint32_t head = nobody, tail = nobody;  // flows of later rounds that have started up, in the order of rounds
  };
  struct Running {
    TaskId id = 0;
    CallId call = 0;
    CallId way = 0;  // the collective that is sent: the call's own, or another algorithm that NCCL chooses
    bool busy = false;
    const RoutedRounds* rounds = nullptr;
    double bytes = 0;
    Time base{0};                     // the time from a rank's start until it sends
    Time ready{0};                    // when ranks that start together begin to send
    StartUps start_ups{};             // additional start-ups of messages
    std::int64_t left = 0;            // messages not delivered, plus ranks that have not started
    std::vector<std::uint32_t> next;  // by slot: the round that it sends next
    std::vector<Progress> progress;   // of rounds first … last − 1: round r is at r mod size, a power of two
    std::uint32_t mask = 0;           // size − 1
    std::uint32_t first = 0, last = 0;
    std::size_t tail = 0;  // the distinct round, and its repetition, that round `last` is
    std::int64_t tail_turn = 0;
    std::vector<Channel> channels;
    std::vector<Line> out, in;  // by slot
    // Only for ranks that start separately:
    std::uint32_t absent = 0;                      // the number of ranks that have not started
    std::vector<bool> has_started;                 // by rank: true if it has started
    std::vector<std::vector<std::uint32_t>> held;  // by rank: flows that have arrived and wait for its start

    Progress& at(std::uint32_t round) { return progress[round & mask]; }
  };
  enum class Stage : std::uint8_t { StartsUp, WaitsToLeave, WaitsToEnter, Moves, Arrived };
  struct Flow {
    const RoutedMessage* message = nullptr;  // null for background flows and unused ones
    double left = 0;                         // bytes, at `updated`
    double rate = 0;                         // bytes per ps
    double carry = 0;                        // the rounding remainder of its start-up, ps
    Time updated{0};                         // before its bytes flow: the end of its start-up without `carry`
    std::uint32_t running = 0;
    Stage stage = Stage::StartsUp;
    std::uint32_t slot = 0;  // the sender's; not set for messages from a channel's queue
    std::uint32_t round = 0;
    std::uint32_t version = 0;            // of its event; events of earlier versions are void
    std::uint32_t next_in_line = nobody;  // the next flow in its Line
    std::uint32_t first_part = 0;         // the flow of its message's first part, which represents the message
    std::uint32_t parts_missing = 0;      // in that flow: the number of parts that have not arrived
    Time end{0};                          // at the present rate
    Time wakes{0};  // the time of its event, at most `end`; the event is repeated if it is too early
  };
  struct Reducer {
    Time free{0};
    double carry = 0;
  };
  // Events. Begin, Ends, Reduced: a flow's start-up is over, its bytes have arrived, its reduction has ended. Ended,
  // Ready: a collective has ended, or one of its parties is ready to send (the version is then the party's number).
  enum What : std::uint32_t { Begin, Ends, Reduced, Ended, Ready, Nothing };

  void handle(Instants::Event event, Time now);
  void start_party(std::uint32_t running, std::uint32_t party, Time now);
  void advance(std::uint32_t running, std::uint32_t slot, Time now);
  void enter(Running& running, std::uint32_t round);
  void leave(Running& running, std::uint32_t round);
  void send(std::uint32_t running, std::uint32_t slot, const RoutedMessage& message, std::uint32_t round, Time now);
  void launch(std::uint32_t running, std::uint32_t slot, const RoutedMessage& message, std::uint32_t round, Time now);
  void init_lines(Running& running);
  void leave_sender(std::uint32_t flow, Time now);
  void enter_receiver(std::uint32_t flow, Time now);
  template <class Count>
  bool advance_line(Running& running, Line& line, std::uint32_t round, const Count& count);
  void insert_in_line(Line& line, std::uint32_t flow);
  template <class Count, class Next>
  void count_passed(Running& running, Line& line, const Count& count, const Next& next);
  void begin(std::uint32_t flow, Time now);
  void end_flow(std::uint32_t flow, Time now);
  void end_message(std::uint32_t flow, Time now);
  void receive(std::uint32_t flow, Time now);
  void deliver(std::uint32_t flow, Time now);
  void count_down(std::uint32_t running);
  void share(Time now);
  void set_rate(std::uint32_t flow, Time now);
  std::uint32_t job_of(const Running& running) const { return job_of_call_.empty() ? 0 : job_of_call_[running.call]; }
  void move_to_links(Running& running, const RoutedRounds& rounds);
  void mark_changed(std::span<const LinkId> way);
  void update_meeting(LinkId link, Time now);
  void update_meetings(Time now);
  std::uint32_t new_flow();

  std::vector<std::shared_ptr<const RoutedRounds>> collectives_;
  double gamma_;  // ps per byte
  Parties parties_;
  NcclCalls nccl_;
  FairLinks links_;
  Instants instants_;
  std::vector<Running> running_;
  std::vector<std::uint32_t> idle_running_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_flows_, ended_flows_, changed_;
  std::vector<std::vector<Reducer>> reducers_;  // by job and rank
  std::vector<std::uint32_t> job_of_call_;
  struct Background {
    std::uint32_t flow = 0;
    bool moves = false;
  };
  std::vector<Background> background_;
  Meetings* meetings_ = nullptr;
  struct Meeting {
    Meetings::Id id = Meetings::none;
    Time since{0};
  };
  std::vector<Meeting> meeting_on_;  // by link
  std::vector<LinkId> touched_;      // links on which something changed in this instant
  std::vector<std::uint32_t> finished_;
  std::int64_t sent_ = 0;
};

}  // namespace allreplay
