// The planners of the strategies, and their defaults. What shards is described in docs/sharding.md.
#pragma once

#include <span>
#include <vector>

#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

// The strategies of the MG-WFBP paper (Shi et al.), and the exact optimum of its problem.
BucketSchedule schedule_s_sgd(const PlanRequest& request);          ///< Eq. 3: each tensor, after the backward pass
BucketSchedule schedule_wfbp(const PlanRequest& request);           ///< Eq. 6-8: each tensor, when it is ready
BucketSchedule schedule_sync_easgd(const PlanRequest& request);     ///< Eq. 9: all tensors in one collective
BucketSchedule schedule_mg_wfbp(const PlanRequest& request);        ///< Algorithm 1 as printed; O(L)
BucketSchedule schedule_optimal_merge(const PlanRequest& request);  ///< the best of all 2^(L−1) merges; O(L²)

inline constexpr Bytes ddp_bucket_cap = Bytes{25} << 20;
inline constexpr Bytes ddp_first_bucket = Bytes{1} << 20;     ///< if no cap is given; lets communication start early
inline constexpr Bytes horovod_threshold = Bytes{128} << 20;  ///< since 0.21
inline constexpr Bytes dear_threshold = Bytes{25} << 20;

/// PyTorch DistributedDataParallel: tensors fill buckets in reverse order; a bucket closes when it reaches its cap, and
/// buckets are sent strictly in order (Li et al., VLDB 2020, section 3.2).
BucketSchedule schedule_ddp(const PlanRequest& request);
/// Horovod: at each tick, gradients that became ready since the previous one are fused up to the threshold; a larger
/// tensor is sent separately (Sergeev, Del Balso 2018). Blocks are sent one after another, without waiting for ticks.
BucketSchedule schedule_horovod(const PlanRequest& request);
/// DeAR (Zhang et al., ICDCS 2023): fuses whole layers in forward order while their sum stays below `threshold`. The
/// halves of all-reduces are separate: reduce-scatters start as gradients become ready; all-gathers start after the
/// backward pass and all reduce-scatters, the input layer's first, and overlap the next forward pass.
BucketSchedule schedule_dear(const PlanRequest& request);

inline constexpr Partition bytescheduler_partition{.bytes = 4'000'000};  ///< also US-Byte's S_p
inline constexpr Partition p3_partition{.elements = 40'000};             ///< MXNET_KVSTORE_SLICE_THRESHOLD
inline constexpr Partition byteps_partition{.bytes = 4'096'000};         ///< BYTEPS_PARTITION_BYTES

/// Returns the size that the user chose, or else the strategy's default.
inline Bytes slice_size(const PlanRequest& request, const Partition& own) {
  return request.options.partition.value_or(own.of(request.profile));
}

/// Cuts a tensor into slices of `partition` bytes; the last one may be shorter.
std::vector<Slice> cut(TensorId tensor, Bytes bytes, Bytes partition);

/// ByteScheduler (Peng et al., SOSP 2019): slices by layer, those near the input first, `credit` in flight.
BucketSchedule schedule_bytescheduler(const PlanRequest& request);
/// P3 (Jayarajan et al., MLSys 2019): the same with small slices, one at a time.
BucketSchedule schedule_p3(const PlanRequest& request);
/// BytePS (Jiang et al., OSDI 2020): slices as they become ready, `credit` in flight; the next iteration waits for all.
BucketSchedule schedule_byteps(const PlanRequest& request);
/// US-Byte (us_byte.hpp). By default, the second phase is sequential, which is optimal by Theorem 1.
BucketSchedule schedule_us_byte(const PlanRequest& request);

/// MergeComp (Wang, Wu, Ng) compresses and sends tensors in groups: fewer codec calls pay a start-up, while most
/// communication still overlaps the backward pass. Groups gradients by StrategyOptions::grouping. Without a codec, they
/// are sent uncompressed.
BucketSchedule schedule_mergecomp(const PlanRequest& request);
/// F of Eq. 7, the iteration time: the forward time t_f after the last group has arrived and the backward pass has
/// ended. Each group is encoded and decoded right after its last gradient, before the backward pass continues; groups
/// are sent one after another. `ends[i]` is one past the last gradient (in backward order) of group i.
Time mergecomp_objective(const PlanRequest& request, std::span<const std::size_t> ends);

/// PyTorch's fully_shard, and FullyShardedDataParallel.
Plan plan_fsdp2(const PlanRequest& request);
Plan plan_fsdp1(const PlanRequest& request);
/// FSDP1 as set up by Composer: the backward pass gathers a unit after the previous one has computed (BACKWARD_POST).
Plan plan_composer(const PlanRequest& request);
/// torchtitan's SimpleFSDP: PyTorch's compiler buckets and moves the collectives of single tensors.
Plan plan_simple_fsdp(const PlanRequest& request);

/// DeepSpeed's ZeRO. zero-1 and zero-2 reduce gradients in buckets and gather all parameters after the update; zero-3
/// gathers parameters layer by layer, in the order of the previous iteration.
Plan plan_zero1(const PlanRequest& request);
Plan plan_zero2(const PlanRequest& request);
Plan plan_zero3(const PlanRequest& request);

/// Megatron-Core's DistributedDataParallel, also with its distributed optimizer. Throws InputError like
/// overlaps_gathers().
Plan plan_megatron(const PlanRequest& request);
/// Megatron-LM's Megatron-FSDP with parameters, gradients and optimizer sharded, and its hybrids.
Plan plan_megatron_fsdp(const PlanRequest& request);

/// PyTorch's torchft (local_sgd.py at 7eb70878). `local-sgd`: after every H-th update each tensor is averaged, and the
/// next step waits for all. `diloco`: P fragments of the model in turn, one every H/P steps; the average of a fragment
/// is launched `delay` steps before its outer update.
Plan plan_local_sgd(const PlanRequest& request);
Plan plan_diloco(const PlanRequest& request);

}  // namespace allreplay
