// The wire formats of ZeRO++ (DeepSpeed edaa7221: runtime/zero/partition_parameters.py, CUDAQuantizer;
// runtime/comm/coalesced_collectives.py, all_to_all_quant_reduce()).
#pragma once

#include <cstdint>
#include <optional>

#include "sim/inputs/workload/profile.hpp"
#include "sim/plans/schedule/plan.hpp"

namespace allreplay {

inline constexpr WireType int8_values{.bits = 8}, int4_values{.bits = 4};

/// Returns the format of the fp32 scales of a shard of this many elements that is quantised to int8: their number is
/// the least s >= elements/8000 for which 8s divides the elements. Returns none if there is no such s, since DeepSpeed
/// cannot quantise such a shard.
std::optional<WireType> scales_of_shard(std::int64_t elements);

/// Returns the format of the scales of a gradient that all-to-alls reduce in int4; none if DeepSpeed reduces the tensor
/// as it is: it has one dimension, or 2·workers does not divide its elements.
std::optional<WireType> scales_of_gradient(const Tensor& tensor, std::int64_t workers);

}  // namespace allreplay
