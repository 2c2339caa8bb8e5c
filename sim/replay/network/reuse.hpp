// Avoids simulating a collective that has the network to itself: its time is found once and used again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/replay/engine/server.hpp"

namespace allreplay {

/// Postpones a collective that starts on the idle network. If nothing else starts before its time has passed, it ends
/// then, without having been simulated. Otherwise the network starts it after all, at its original instant, and catches
/// up. The results equal those of the network, because the time of a single collective depends only on its call, its
/// bytes, and the offsets between its parties.
class Reuse final : public Server {
 public:
  struct Price {
    Time time{0};             ///< from start to end
    std::int64_t events = 0;  ///< simulated to find it; 0 if it was known
  };
  struct Joined {
    std::uint32_t party;
    Time at;  ///< after the start of its task
  };
  /// The time of a task that has the network to itself, given all of its parties; nothing if it has to be simulated.
  using Pricing = std::function<std::optional<Price>(const Task&, std::span<const Joined>)>;

  /// Makes an idle network; called when it is first needed.
  using Making = std::function<std::unique_ptr<Server>()>;

  /// `parties`: the number of parties of a task; 0 if tasks have none.
  Reuse(Making network, Pricing price, std::size_t parties = 0)
      : make_network_(std::move(network)), price_(std::move(price)), parties_(parties) {}

  void start(TaskId id, const Task& task, Time now) override;
  void join(TaskId id, std::uint32_t party, Time now) override;
  Time next_completion() const override {
    if (alone_) return alone_->end;
    return in_network_ > 0 ? network_->next_completion() : never;
  }
  void complete(Time now, std::vector<TaskId>& done) override;
  bool wakeup_is_tentative() const override { return in_network_ > 0 && network_->wakeup_is_tentative(); }
  Load load() const override {
    if (alone_) return {1, 0};
    return network_ ? network_->load() : Load{};
  }
  Load load_of(const WhichCalls& which) const override {
    if (alone_) return {which(alone_->task.call_id), 0};
    return network_ ? network_->load_of(which) : Load{};
  }
  /// The events simulated here and to find prices.
  std::int64_t events() const override { return (network_ ? network_->events() : 0) + pricing_; }

 private:
  struct Alone {
    TaskId id;
    Task task;
    Time start;
    Time end = never;  // known once all parties have joined
    std::vector<Joined> joined{};
  };

  void find_price(Time now);
  void hand_over(Time now);
  void catch_up(Time from, Time to);

  Making make_network_;
  std::unique_ptr<Server> network_;
  Pricing price_;
  std::size_t parties_;
  std::optional<Alone> alone_;
  std::int64_t in_network_ = 0;
  std::int64_t pricing_ = 0;
};

}  // namespace allreplay
