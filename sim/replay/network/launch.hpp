// Launches, the time that a host spends on a collective before the network starts it; and collectives of several legs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/replay/network/fabric.hpp"

namespace allreplay {

/// True if a host launches the call: not for groups of one rank, nor for messages between two ranks of a pipeline.
/// REQUIRES: the call is not a leg of a parameter server.
inline bool is_launched(const Call& call) { return call.group.ranks > 1 && call.group.members.empty(); }

/// By call: the calls of the inner network of which it consists, one after another.
using Legs = std::vector<std::vector<CallId>>;

/// A server in front of the inner network. Each lane has one launcher: the launch of a leg starts when the leg may
/// start and the lane's previous launch has ended; when it ends, the inner network starts the leg (docs/models.md). The
/// launch of a task's first leg lasts longer by the task's duration. A task is in flight (Load) from the end of its
/// launch. Each party (join()) has launchers of its own.
class Launcher final : public Server {
 public:
  /// `launch`: by call; nothing for groups of one rank. `per_rank_start`: tasks start in parties, and have one leg.
  /// REQUIRES: `launch` and `legs` outlive it.
  Launcher(std::unique_ptr<Server> network, std::span<const std::optional<Time>> launch, const Legs& legs,
           bool per_rank_start = false)
      : network_(std::move(network)), launch_(launch), legs_(legs), per_rank_start_(per_rank_start) {}

  void start(TaskId id, const Task& task, Time now) override;
  void join(TaskId id, std::uint32_t party, Time now) override;
  Time next_completion() const override;
  void complete(Time now, std::vector<TaskId>& done) override;
  bool wakeup_is_tentative() const override {
    return network_->wakeup_is_tentative() &&
           (launching_.empty() || network_->next_completion() < launching_.front().at);
  }
  Load load() const override { return network_->load(); }
  Load load_of(const WhichCalls& which) const override { return network_->load_of(which); }
  std::int64_t events() const override { return network_->events(); }
  void describe(Time now, const TaskNames& name, std::vector<std::int64_t>& state) const override;

 private:
  struct Leg {
    Time at;              // the end of its launch
    std::int64_t number;  // launches that end simultaneously go on in the order of their requests
    TaskId id;
    Task task;
    std::uint32_t party;
    bool operator>(const Leg& other) const { return at != other.at ? at > other.at : number > other.number; }
  };
  struct Running {
    TaskId id;
    Task task;
    std::size_t leg;
  };
  struct InParties {
    Task task;
    bool launched = false;  // by any party
  };
  static constexpr std::uint32_t single_party = 0;

  void launch(TaskId id, const Task& task, std::uint32_t party, Time now);
  void start_inside(TaskId id, const Task& task, std::uint32_t party, Time now);
  void start_launched(Time now);

  std::unique_ptr<Server> network_;
  std::span<const std::optional<Time>> launch_;
  const Legs& legs_;
  bool per_rank_start_;
  std::vector<Leg> launching_;                                 // a heap, the next at the front
  std::map<std::pair<QueueId, std::uint32_t>, Time> free_at_;  // by lane and party: when its launcher is free
  std::vector<Running> multi_leg_;                             // the tasks with several legs
  std::map<TaskId, InParties> in_parties_;
  std::vector<TaskId> ended_;  // legs
  std::int64_t launches_ = 0;
};

/// A fabric behind launchers.
class LaunchedFabric final : public Fabric {
 public:
  /// `launch`: the launch time of each leg with more than one rank; `of_tensor`: see launch_of_tensor(). `legs`: empty
  /// for calls that are their own single leg. `is_launched`: selects the calls that are launched; null: all.
  LaunchedFabric(std::shared_ptr<const Fabric> inside, Time launch, Legs legs, Time of_tensor = Time(0),
                 bool (*is_launched)(const Call& call) = nullptr);

  CommCost price(const Call& call) const override;
  Time alone(WireBytes bytes, const Call& call) const override;
  Time least(WireBytes bytes, const Call& call, bool several) const override;
  Time least_behind(WireBytes bytes, const Call& call, bool several) const override;
  Time at_best(WireBytes bytes, const Call& call) const override { return busiest(bytes, call).second; }
  Channels channels(const Call& call) const override;
  std::unique_ptr<Server> server() const override;
  std::unique_ptr<Server> server_per_rank(const Parties& parties) const override;
  std::int64_t messages(const Call& call) const override { return inside_->messages(call); }
  Time launch_of_tensor() const override { return workers() > 1 ? of_tensor_ : Time(0); }
  std::int64_t pricing_events() const override { return inside_->pricing_events(); }

 private:
  const std::vector<CallId>& legs_of(const Call& call) const { return legs_[id_of(call)]; }
  Time launches(const Call& call) const;
  std::pair<Channels, Time> busiest(WireBytes bytes, const Call& call) const;

  std::shared_ptr<const Fabric> inside_;
  std::vector<std::optional<Time>> launch_;  // by call
  Time of_tensor_;
  Legs legs_;
};

}  // namespace allreplay
