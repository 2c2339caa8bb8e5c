// Tasks that start in parties: each when the first of its parties is there, and the others join it as they come.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/collective/rounds.hpp"
#include "sim/engine/server.hpp"

namespace allreplay {

/// The ranks that start a task together, by party.
using Parties = std::vector<std::vector<Rank>>;

/// Before a network that tasks start in parties. That a party is there is a task, too: an arrival, which ends at once,
/// and of which the network hears as soon as the task has started whose party it is. What needs one of its arrivals
/// (TaskGraph::wait_for_any) then queues from its first on. REQUIRES: all parties of a task arrive, each once; their
/// queue is asked before those of the tasks, so that who comes in one instant starts together.
class Rendezvous final : public Server {
 public:
  struct Arrival {
    TaskId task;
    std::uint32_t party;
  };
  /// `arrival`: what a task is one of; none of a task that the network serves.
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
    std::vector<std::uint32_t> waiting;  // parties, until it has
  };

  std::unique_ptr<Server> network_;
  std::function<std::optional<Arrival>(TaskId)> arrival_;
  std::map<TaskId, Meeting> meetings_;
  std::vector<TaskId> arrived_;
  Time arrived_at_{0};
};

}  // namespace allreplay
