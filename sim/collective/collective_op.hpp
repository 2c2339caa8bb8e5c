// What a collective does.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/named.hpp"

namespace allreplay {

enum class CollectiveOp : std::uint8_t { AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast, Send };

inline constexpr Word<CollectiveOp> collective_ops[] = {
    {CollectiveOp::AllReduce, "all-reduce"}, {CollectiveOp::ReduceScatter, "reduce-scatter"},
    {CollectiveOp::AllGather, "all-gather"}, {CollectiveOp::AllToAll, "all-to-all"},
    {CollectiveOp::Broadcast, "broadcast"},  {CollectiveOp::Send, "send"},
};

/// Whether it sums what workers have made; and whether it brings a whole to everybody.
inline bool is_reduction(CollectiveOp op) { return op == CollectiveOp::AllReduce || op == CollectiveOp::ReduceScatter; }
inline bool is_gathering(CollectiveOp op) { return op == CollectiveOp::AllReduce || op == CollectiveOp::AllGather; }

inline std::string to_string(CollectiveOp op) { return std::string(name_of(collective_ops, op)); }

}  // namespace allreplay
