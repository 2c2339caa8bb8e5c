// Tasks that start in parties: a task starts when its first party has arrived, and the others join it as they arrive.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/plans/collective/rounds.hpp"
#include "sim/replay/engine/server.hpp"

namespace allreplay {

/// The ranks that start a task together, by party.
using Parties = std::vector<std::vector<Rank>>;

/// A server in front of a network whose tasks start in parties. The arrival of a party is a task, too, which ends
/// immediately; the network is notified as soon as the party's task has started. That task needs only one of its
/// arrivals (TaskGraph::wait_for_any), and so is ready from the first on. REQUIRES: each party of a task arrives once;
/// the queue of arrivals is asked before those of the tasks, so that parties that arrive in one instant start together.
class Rendezvous final : public Server {
 public:
  struct Arrival {
    TaskId task;
    std::uint32_t party;
  };
  /// `arrival`: describes a task that is an arrival; returns nothing for a task that the network serves.
  Rendezvous(std::unique_ptr<Server> network, std::function<std::optional<Arrival>(TaskId)> arrival)
      : network_(std::move(network)), arrival_(std::move(arrival)) {}

  void start(TaskId id, const Task& task, Time now) override;
  Time next_completion() const override { return arrived_.empty() ? network_->next_completion() : arrived_at_; }
  void complete(Time now, std::vector<TaskId>& done) override;
  bool wakeup_is_tentative() const override { return arrived_.empty() && network_->wakeup_is_tentative(); }
  Load load() const override { return network_->load(); }
  Load load_of(const WhichCalls& which) const override { return network_->load_of(which); }
  std::int64_t events() const override { return network_->events(); }

 private:
  struct Meeting {
    bool started = false;
    std::vector<std::uint32_t> waiting;  // the parties that arrived before the start
  };

  std::unique_ptr<Server> network_;
  std::function<std::optional<Arrival>(TaskId)> arrival_;
  std::map<TaskId, Meeting> meetings_;
  std::vector<TaskId> arrived_;
  Time arrived_at_{0};
};

}  // namespace allreplay
