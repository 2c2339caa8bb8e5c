// ByteScheduler, P3 and BytePS, which cut tensors into slices.
#pragma once

#include <vector>

#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

inline constexpr Partition bytescheduler_partition{.bytes = 4'000'000};  ///< also US-Byte's S_p
inline constexpr Partition p3_partition{.elements = 40'000};             ///< MXNET_KVSTORE_SLICE_THRESHOLD

inline constexpr Partition byteps_partition{.bytes = 4'096'000};  ///< BYTEPS_PARTITION_BYTES

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

}  // namespace allreplay
