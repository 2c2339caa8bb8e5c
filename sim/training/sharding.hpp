// What of a scenario asks for more than all-reduces among all: shards, groups and parameters.
#pragma once

#include "sim/training/simulate.hpp"

namespace allreplay {

/// Whether transfers go in groups, or carry parameters.
bool shards_state(const Scenario& scenario);

/// What a planner's blocks travel in while the backward pass can hide them.
Call planned_call(const Scenario& scenario);

/// ZeRO's stage that the scenario's strategy plans for. REQUIRES: a strategy, and no given plan.
std::int64_t stage_of(const Scenario& scenario);

/// Whether the scenario's strategy, with its options, can shard in groups of workers.
bool takes_groups(const Scenario& scenario);

/// Throws InputError for groups that do not divide the workers, and for options and codecs that the strategy does not
/// go with.
void require_sharding(const Scenario& scenario);

/// The options that were given of how a step shards (zero, barrier, shard_group), and of which this strategy takes no
/// value: it is a way of sharding by itself, or shards in no groups.
std::vector<std::string> options_not_taken(const Scenario& scenario);

/// Whether it would not.
bool goes_with(const Scenario& scenario);

}  // namespace allreplay
