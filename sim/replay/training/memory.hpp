// Computes a worker's memory use from a timeline (docs/sharding.md, "Memory").
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sim/base/core/error.hpp"
#include "sim/replay/training/simulate.hpp"

namespace allreplay {

/// Writes a worker's memory limit, rounded if it is the device's. REQUIRES: there is a limit.
std::string limit_text(const Scenario& scenario);

/// True if this fits into the worker's memory, or there is no limit.
bool fits(const Scenario& scenario, double bytes);
bool fits(const Scenario& scenario, const Result& result);

struct NothingFits : InputError {
  using InputError::InputError;
};

/// Throws NothingFits: of everything that was tried, `smallest` needs the least memory, `bytes`. `instead` follows.
[[noreturn]] void nothing_fits(const Scenario& scenario, double bytes, std::string_view smallest,
                               std::string_view instead = "");

/// A number of elements of parameters.
struct Elements {
  double all = 0;
  double experts = 0;  ///< those of experts, if these are sharded among fewer workers than others; else 0

  void add(const Plan& plan, const Profile& profile, TensorId tensor);
  /// Returns the elements that one worker holds if `shards` workers share the state; parameters of experts are shared
  /// by fewer, shards/E.
  double shared_by(double shards, const Plan& plan) const;
};

/// A worker's parameters.
struct HeldParameters {
  Elements all, trained;
  Elements with_gradients;  ///< those that are trained or reduced: frozen ones may be parts of flat parameters
};
HeldParameters held_parameters(const Plan& plan, const Profile& profile, const std::function<bool(TensorId)>& holds);

/// Returns the memory that a worker always holds for its parameters: `resident` of them unsharded, the others sharded
/// among `shards` workers as in the plan. REQUIRES: the profile has tensors.
MemoryParts standing_memory(const Scenario& scenario, const Plan& plan, const HeldParameters& parameters,
                            double resident, double shards);

/// A place where parameters are updated. An update that takes no time is just before `work`, the first forward pass.
struct UpdatePlace {
  std::size_t work = 0;  ///< place in the program
  bool takes_time = true;
  Elements elements;  ///< updated by all workers that share the optimizer's state
};
std::vector<UpdatePlace> update_places(const Plan& plan, std::uint32_t role, const Profile& profile);

/// Returns the temporary memory of the optimizer step when a worker updates this many elements.
double step_memory(const Scenario& scenario, const Plan& plan, double elements);

/// Computes the memory use in the last replayed iteration.
MemoryUse memory_of(const Scenario& scenario, const Plan& plan, const Unrolled& unrolled, const Episode& episode);

/// Returns the memory use of one worker of a pipeline's rank during the iteration.
MemoryUse memory_of_rank(const Job& job, const Plan& plan, const Unrolled& unrolled, const Timeline& iteration,
                         std::uint32_t rank);

}  // namespace allreplay
