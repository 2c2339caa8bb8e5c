// Megatron-Core's DistributedDataParallel, with its distributed optimizer or without. Precedence: docs/sharding.md.
#pragma once

#include "sim/schedule/strategy.hpp"

namespace allreplay {

/// In backward order, closed once they hold at least so many elements; one where that is 0.
std::vector<Block> megatron_buckets(const Profile& profile, std::int64_t least);

/// How many elements close a bucket among so many workers.
std::int64_t megatron_bucket_size(const MegatronOptions& options, std::int64_t workers);

/// Whether gathers run in the forward pass. Throws InputError where they are to, and nothing makes them.
bool overlaps_gathers(const MegatronOptions& options);

/// MemoryPolicy::step: the shard's gradients in fp32, if they are not of it.
Bytes megatron_step(const Profile& profile);

/// Throws InputError for gathers that are to overlap where nothing makes them.
Plan plan_megatron(const PlanRequest& request);

}  // namespace allreplay
