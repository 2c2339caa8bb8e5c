// Questions about a scenario's sharding: shards, groups and gathered parameters.
#pragma once

#include "sim/replay/training/simulate.hpp"

namespace allreplay {

/// True if transfers run in groups or carry parameters.
bool shards_state(const Scenario& scenario);

/// Returns the call that sends a planner's blocks during the backward pass.
Call planned_call(const Scenario& scenario);

/// Returns ZeRO's stage of the strategy's plans. REQUIRES: a strategy, and no given plan.
std::int64_t stage_of(const Scenario& scenario);

/// True if the strategy, with these options, can shard in groups of workers.
bool takes_groups(const Scenario& scenario);

/// Throws InputError for groups that do not divide the workers, and options and codecs that the strategy does not
/// support.
void require_sharding(const Scenario& scenario);

/// Returns those of zero, barrier and shard_group that were given but that the strategy does not accept, since it plans
/// its own sharding or cannot shard in groups.
std::vector<std::string> options_not_taken(const Scenario& scenario);

/// True if require_sharding() would not throw.
bool is_compatible(const Scenario& scenario);

}  // namespace allreplay
