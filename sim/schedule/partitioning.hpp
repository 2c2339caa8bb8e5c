// Strategies that cut tensors and send what the next forward pass needs first.
#pragma once

#include <vector>

#include "sim/schedule/strategy.hpp"

namespace allreplay {

inline constexpr Partition bytescheduler_partition{.bytes = 4'000'000};  ///< US-Byte's S_p, too
inline constexpr Partition p3_partition{.elements = 40'000};             ///< MXNET_KVSTORE_SLICE_THRESHOLD

inline constexpr Partition byteps_partition{.bytes = 4'096'000};  ///< BYTEPS_PARTITION_BYTES

/// What the user says, or the strategy's own.
inline Bytes slice_size(const PlanRequest& request, const Partition& own) {
  return request.options.partition.value_or(own.of(request.profile));
}

/// The slices of a tensor in order: `partition` bytes each, the short one last.
std::vector<Slice> cut(TensorId tensor, Bytes bytes, Bytes partition);

/// ByteScheduler (Peng et al., SOSP 2019): partitions by layer, the input side first, `credit` in flight.
BucketSchedule schedule_bytescheduler(const PlanRequest& request);

/// P3 (Jayarajan et al., MLSys 2019): the same with small slices, one at a time.
BucketSchedule schedule_p3(const PlanRequest& request);

/// BytePS (Jiang et al., OSDI 2020): every tensor in partitions, each a block; what is ready first goes first, `credit`
/// of them in flight, and the next iteration waits for all.
BucketSchedule schedule_byteps(const PlanRequest& request);

}  // namespace allreplay
