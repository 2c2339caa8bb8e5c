// Plans written out transfer by transfer, for strategies that are no drafts.
#pragma once

#include <span>

#include "sim/schedule/plan.hpp"

namespace allreplay {

class PlanBuilder {
 public:
  PlanBuilder(std::string_view strategy, const Step& step) {
    plan_.strategy = strategy;
    plan_.step = step;
  }

  Plan& plan() { return plan_; }
  const Plan& plan() const { return plan_; }
  Plan take() { return std::move(plan_); }

  /// The next on the compute stream; its place.
  std::size_t add(const Work& work) {
    plan_.program.push_back(work);
    return plan_.program.size() - 1;
  }
  std::uint32_t add(Block block) {
    plan_.blocks.push_back(std::move(block));
    return static_cast<std::uint32_t>(plan_.blocks.size() - 1);
  }
  std::uint32_t add_lane(std::string name) {
    plan_.lanes.push_back({std::move(name), Order::AsListed, {}, Time(0)});
    return static_cast<std::uint32_t>(plan_.lanes.size() - 1);
  }
  /// The next in its lane.
  Moment add(const Transfer& one) {
    plan_.transfers.push_back(one);
    return transfer(plan_.transfers.size() - 1);
  }
  void gate(const Moment& before, const Moment& after) { plan_.gates.push_back({before, after}); }
  void gate(std::span<const Moment> before, const Moment& after) {
    for (const Moment& one : before) gate(one, after);
  }
  /// The end of what has been added to the program last, or its start.
  Moment so_far() const { return plan_.program.empty() ? start_of_program() : work(plan_.program.size() - 1); }

 private:
  Plan plan_;
};

/// The layer's tensors, whole.
Block block_of_layer(LayerId layer, const Profile& profile);

}  // namespace allreplay
