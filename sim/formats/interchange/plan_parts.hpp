// Parts of a plan file that its reader takes whole. They throw InputError.
#pragma once

#include "sim/base/core/json.hpp"
#include "sim/formats/interchange/plan_words.hpp"
#include "sim/plans/schedule/plan.hpp"

namespace allreplay {

/// Reads "step" of a plan: micro-batches, sharding, groups of experts, local steps.
ShardingConfig read_step(const Json& plan, const Profile& profile);

/// Reads "holding" of a plan with `blocks` blocks: the policy by which its workers keep parameters and gradients in
/// memory.
MemoryPolicy read_memory_policy(const Json& plan, const Profile& profile, const PlanNames& layers, std::size_t blocks);

/// Appends the lanes of a list.
void read_lanes(const Json& list, Plan& plan);

/// Reads the pairs of a pipeline's rank, whose program is known.
void read_pairs(const Json& list, const Plan& plan, Role& role);

}  // namespace allreplay
