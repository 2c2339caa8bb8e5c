// The fidelity `message`: every message of every worker.
//
// A message leaves when its data are there (rounds.hpp), takes α and its route's latencies, then shares its links with
// all messages in flight, of this collective and others, by max-min fairness; at the receiver it waits for the
// reductions that came before it there, and is reduced. One of several parts (ecmp) takes a start-up and links for
// each, and has come with the last. Only instants are rounded, to the picosecond: what rounding an instant leaves out
// is carried into the next step of the same message.
//
// Streams send and receive round by round: the bytes of a message on no channel begin to flow when those of all earlier
// rounds have left its sender's stream and have come into its receiver's. Start-ups pass meanwhile.
//
// Where ranks start apart, a rank sends nothing before it starts, and what comes for it waits. A task ends when all
// have started and have what they need.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/collective/call.hpp"
#include "sim/engine/server.hpp"
#include "sim/network/fair_links.hpp"
#include "sim/network/instants.hpp"
#include "sim/network/meetings.hpp"
#include "sim/network/nccl_on_links.hpp"
#include "sim/network/rendezvous.hpp"
#include "sim/network/routed_rounds.hpp"

namespace allreplay {

class MessageNetwork final : public NetworkOfJobs {
 public:
  /// `parties`: who starts when told to (join), the ranks of all parties; none: all ranks start with the task. `nccl`:
  /// of calls that go as it chooses; behind the calls' own collectives stand others of theirs.
  MessageNetwork(std::vector<std::shared_ptr<const RoutedRounds>> collectives, std::span<const Link> links,
                 double gamma, Parties parties = {}, NcclCalls nccl = {});

  /// Calls are those of several jobs, by number. `meetings`: who met whom is noted there; null: nobody asks. REQUIRES:
  /// it is idle; meetings outlive it.
  void serve(std::vector<std::uint32_t> job_of_call, Meetings* meetings);

  /// The same collectives on links that have changed: whoever is on its way goes on over its new route.
  void lay(std::vector<std::shared_ptr<const RoutedRounds>> collectives, std::span<const Link> links, Time now);

  /// One of the flows that never end, by its number, is on its way over these links from now on; over none: it
  /// rests. REQUIRES: the links outlive that.
  void set_other(std::uint32_t number, std::span<const LinkId> way, Time now);

  void start(TaskId id, const Task& task, Time now) override;
  void join(TaskId id, std::uint32_t party, Time now) override;
  Time next_completion() const override { return instants_.next(); }
  void complete(Time now, std::vector<TaskId>& done) override;
  Load load() const override { return {static_cast<std::int64_t>(running_.size() - idle_running_.size()), 0}; }
  Load load_of(const WhichCalls& which) const override;
  std::vector<double> met(Time now) const override;
  void describe(Time now, const TaskNames& name, std::vector<std::int64_t>& state) const override;
  /// Messages sent.
  std::int64_t events() const override { return sent_; }

 private:
  static constexpr std::uint32_t nobody = 0xffffffff;

  // What of a round has not come in; kept from when the first slot sends in it until all slots have moved on.
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
    std::size_t served = 0;  // of the queue
  };
  // What leaves a stream, or comes into it, one round after another.
  struct Line {
    std::uint32_t round = 0;                     // whose bytes pass
    std::uint32_t left = 0;                      // how many messages of it have yet to
    std::uint32_t head = nobody, tail = nobody;  // flows of later rounds that have started up, in their order
  };
  struct Running {
    TaskId id = 0;
    CallId call = 0;
    CallId way = 0;  // the collective that it takes: the call's own, or of NCCL's choice another
    bool busy = false;
    const RoutedRounds* rounds = nullptr;
    double bytes = 0;
    Time base{0};                     // from when a rank starts until it sends,
    Time ready{0};                    // which they do from here on, where they start together
    StartUps start_ups{};             // of messages, besides
    std::int64_t left = 0;            // messages, and ranks that have not started
    std::vector<std::uint32_t> next;  // by slot: the round that it sends next
    std::vector<Progress> progress;   // of rounds first … last − 1: round r at r mod size, a power of two,
    std::uint32_t mask = 0;           // and this is size − 1
    std::uint32_t first = 0, last = 0;
    std::size_t tail = 0;  // the distinct round, and which repetition, that `last` would be
    std::int64_t tail_turn = 0;
    std::vector<Channel> channels;
    std::vector<Line> out, in;  // by slot
    // Where ranks start apart, and at the end, since few ask:
    std::uint32_t absent = 0;                      // how many have not started
    std::vector<bool> here;                        // by rank: whether it has
    std::vector<std::vector<std::uint32_t>> held;  // by rank: flows that are there, and wait for it to start

    Progress& at(std::uint32_t round) { return progress[round & mask]; }
  };
  enum class Stage : std::uint8_t { StartsUp, WaitsToLeave, WaitsToEnter, Moves, HasCome };
  struct Flow {
    const RoutedMessage* message = nullptr;  // none: of a flow that never ends, and of none
    double left = 0;                         // bytes, at `updated`
    double rate = 0;                         // bytes per ps
    double carry = 0;                        // ps, what rounding left out of its start-up
    Time updated{0};                         // until its bytes flow: when its start-up is over, but for `carry`
    std::uint32_t running = 0;
    Stage stage = Stage::StartsUp;
    std::uint32_t slot = 0;  // its sender's; of a channel's message nobody asks
    std::uint32_t round = 0;
    std::uint32_t version = 0;      // of its event: an earlier one is void
    std::uint32_t behind = nobody;  // who waits behind it in a line
    std::uint32_t whole = 0;        // the flow of its message's first part, which stands for the whole,
    std::uint32_t coming = 0;       // and there how many of the parts have not come
    Time end{0};                    // with the present rate
    Time wakes{0};                  // when its event comes: never later than `end`, and then looked at again
  };
  struct Reducer {
    Time free{0};
    double carry = 0;
  };
  // A flow's bytes begin to flow, or have all come; its reduction has ended. A collective has, or a party of it, whose
  // number stands where flows have versions, is ready to send.
  enum What : std::uint32_t { Begin, Ends, Reduced, Ended, Ready, Nothing };

  void handle(Instants::Event event, Time now);
  void take_part(std::uint32_t running, std::uint32_t party, Time now);
  void advance(std::uint32_t running, std::uint32_t slot, Time now);
  void enter(Running& running, std::uint32_t round);
  void leave(Running& running, std::uint32_t round);
  void send(std::uint32_t running, std::uint32_t slot, const RoutedMessage& message, std::uint32_t round, Time now);
  void launch(std::uint32_t running, std::uint32_t slot, const RoutedMessage& message, std::uint32_t round, Time now);
  void line_up(Running& running);
  void leave_sender(std::uint32_t flow, Time now);
  void enter_receiver(std::uint32_t flow, Time now);
  template <class Count>
  bool reach(Running& running, Line& line, std::uint32_t round, const Count& count);
  void wait(Line& line, std::uint32_t flow);
  template <class Count, class Next>
  void pass(Running& running, Line& line, const Count& count, const Next& next);
  void begin(std::uint32_t flow, Time now);
  void arrive(std::uint32_t flow, Time now);
  void come(std::uint32_t flow, Time now);
  void receive(std::uint32_t flow, Time now);
  void deliver(std::uint32_t flow, Time now);
  void count_down(std::uint32_t running);
  void share(Time now);
  void set_rate(std::uint32_t flow, Time now);
  std::uint32_t job_of(const Running& running) const { return job_of_call_.empty() ? 0 : job_of_call_[running.call]; }
  void point_at(Running& running, const RoutedRounds& rounds);
  void leaves(std::span<const LinkId> way);
  void look_at(LinkId link, Time now);
  void meet(Time now);
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
  std::vector<std::vector<Reducer>> reducers_;  // by job, by rank
  std::vector<std::uint32_t> job_of_call_;
  struct Other {
    std::uint32_t flow = 0;
    bool moves = false;
  };
  std::vector<Other> others_;
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
