// Collectives that run alone, priced once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/server.hpp"

namespace allreplay {

/// Puts off a collective that starts on the idle network: if nothing else starts before its price is over, it has
/// ended then, and was never simulated. If something does, the network gets it after all, with its own start, and
/// goes through what has happened since. Results are those of the network itself, because what a collective that is
/// alone takes depends only on its stage, its bytes, and how far apart its parties start.
class Reuse final : public Server {
 public:
  struct Price {
    Time time{0};             ///< from its start on
    std::int64_t events = 0;  ///< that finding it took; 0 when it was known
  };
  struct Joined {
    std::uint32_t party;
    Time at;  ///< after the start of its task
  };
  /// What the network takes for a task that is alone, once all of its parties have joined; none: it is to be simulated.
  using Pricing = std::function<std::optional<Price>(const Task&, std::span<const Joined>)>;

  /// Makes the network, idle, once two meet.
  using Making = std::function<std::unique_ptr<Server>()>;

  /// `parties`: of a task; 0: it starts at once.
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
  /// What was simulated, here and to find prices.
  std::int64_t events() const override { return (network_ ? network_->events() : 0) + pricing_; }

 private:
  struct Alone {
    TaskId id;
    Task task;
    Time start;
    Time end = never;  // until all parties are there
    std::vector<Joined> joined{};
  };

  void find_price(Time now);
  void hand_over(Time now);
  void pass(Time from, Time to);

  Making make_network_;
  std::unique_ptr<Server> network_;
  Pricing price_;
  std::size_t parties_;
  std::optional<Alone> alone_;
  std::int64_t in_network_ = 0;
  std::int64_t pricing_ = 0;
};

}  // namespace allreplay
