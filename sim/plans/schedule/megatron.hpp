// Megatron-Core's DistributedDataParallel, also with its distributed optimizer. Precedences: docs/sharding.md.
#pragma once

#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

/// Returns buckets in backward order. Each is closed when it holds at least `least` elements; 0: one bucket.
std::vector<Block> megatron_buckets(const Profile& profile, std::int64_t least);

/// Returns the number of elements that close a bucket.
std::int64_t megatron_bucket_size(const MegatronOptions& options, std::int64_t workers);

/// True if gathers overlap the forward pass. Throws InputError if they should but the other options exclude it.
bool overlaps_gathers(const MegatronOptions& options);

/// MemoryPolicy::step: a copy of the shard's gradients in fp32, unless they are fp32.
Bytes megatron_step(const Profile& profile);

}  // namespace allreplay
