// The strategy `best`: a search over plans that replays them in alpha-beta.
//
// If transfers run one after another and T(M) = a + b·M, the optimal plan of all-reduces can be constructed. With an
// unlimited window, start-ups cost no bandwidth: each byte may be sent from `a` after its gradient is ready. This is
// scheduling on one machine with release times, preemption, and a tail for each layer (the forward pass from there on).
// Sending the most urgent available byte at each instant is optimal (Jackson's preemptive rule; Horn 1974), and a list
// of blocks can express it. In other cases (fair sharing, measured tables, split stages) local moves improve that plan.
#pragma once

#include <limits>
#include <vector>

#include "sim/base/core/watch.hpp"
#include "sim/plans/schedule/plan.hpp"
#include "sim/replay/training/job.hpp"

namespace allreplay {

/// Returns the best plan that the search finds before it reaches the lower bound or the end of its budget of replayed
/// tasks. It is never slower than another strategy at the same ZeRO stage with the scenario's options and collective
/// (in `message`, on up to 32 workers). `watch` counts the plans that best_of() compares. The search itself replays in
/// alpha-beta, with fair sharing if the fidelity is another. A given barrier holds for all plans; other strategies'
/// options affect the plans that it starts from. With a memory limit, returns the fastest plan that fits; throws
/// NothingFits if none does. Deterministic.
Plan find_best(const Job& job, const Watch& watch = {});

/// Returns the schedule of the preemptive rule above: blocks are cut when a more urgent gradient is ready.
BucketSchedule schedule_most_urgent(const Profile& profile, const BlockCost& cost);

// Common parts of the searches for `best`: plans with their costs, the job on which they are replayed, and the other
// strategies that `best` must not be slower than.

struct PlanCost {
  double seconds = std::numeric_limits<double>::infinity(), bytes = seconds;
  bool fits = false;  ///< into the memory limit

  /// Plans that fit are better than others. Plans that fit are compared by time, then memory; others by memory first.
  bool better_than(const PlanCost& other) const;
};

struct Candidate {
  PlanCost cost;
  Plan plan;
};

/// Replays the plan and returns it with its cost. REQUIRES: the job is prepared for it.
Candidate replayed(const Job& job, Plan plan);

/// Returns the job as a search replays it: without jitter, with collectives that start together. A detailed fidelity is
/// replaced by channels that transfers share fairly, with the fabric's prices of the calls that it offers.
Job as_searched(Job job);

/// True if planning and the plan are small enough for a search, as they are for up to thousands of tensors.
bool is_affordable(const Scenario& scenario);

/// Returns the scenario with each other strategy that supports its options and ZeRO stage and is affordable,
/// unmodified. Strategies that plan their own sharding are asked without `zero`.
std::vector<Scenario> others(const Scenario& scenario);

/// Returns the best of these plans and of the others' plans, as they will be simulated. It uses a separate fabric, so
/// that the caller's fabric does not reuse its prices. `watch` counts plans. In `message` on more than 32 workers,
/// returns the first that fits.
Candidate best_of(const Scenario& scenario, std::vector<Plan> found, const std::vector<Scenario>& others,
                  const Watch& watch = {});

/// Varies FSDP2: the merging of the profile's units, what is freed, how far ahead gathers and how far behind reductions
/// may be, which micro-batches reduce, and whether both share a lane; except for options that the user gives. Also
/// compares other strategies of stage 3, unmodified. Tries all combinations for up to six units; else searches from
/// even merges by moves of borders. With jitter or a detailed fidelity, the search replays in alpha-beta without
/// jitter, and then compares its best plans and the frameworks' in the real simulation (best_of()). With a memory
/// limit, returns the fastest plan that fits; the smallest if none does.
Candidate find_best_sharded(const Job& job, const Watch& watch = {});

}  // namespace allreplay
