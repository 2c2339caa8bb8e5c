// What the searches for `best` share: plans with their costs, what they are replayed on, and whom they must not lose
// to.
#pragma once

#include <limits>
#include <vector>

#include "sim/training/job.hpp"

namespace allreplay {

struct PlanCost {
  double seconds = std::numeric_limits<double>::infinity(), bytes = seconds;
  bool fits = false;  ///< into the memory that there is

  /// What fits goes before what does not; of what does not fit memory; then time; then memory.
  bool better_than(const PlanCost& other) const;
};

struct Candidate {
  PlanCost cost;
  Plan plan;
};

/// The plan, and what it costs. REQUIRES: the job is prepared for it.
Candidate replayed(const Job& job, Plan plan);

/// The job as a search replays it: without jitter, its workers starting collectives together; in alpha-beta as it will
/// be simulated, while a detailed fidelity is told by the prices of the calls that it was prepared for, on channels
/// that transfers share fairly.
Job as_searched(Job job);

/// Whether planning for it, and the plan, are small enough for a search. They are, up to thousands of tensors.
bool affordable(const Scenario& scenario);

/// The scenario with each other strategy that can do what its options ask for, at its stage of ZeRO, as it comes. A
/// strategy that shards in a way of its own is asked without `zero`. Only those that are affordable.
std::vector<Scenario> others(const Scenario& scenario);

/// The best of these plans, and of the others, as the scenario will be simulated: on a network of its own, so that what
/// it prices here nobody finds priced. Message by message among more than 32 workers, where that takes long: the first
/// that fits.
Candidate best_of(const Scenario& scenario, std::vector<Plan> found, const std::vector<Scenario>& others);

}  // namespace allreplay
