// US-Byte (Gao et al., "US-Byte: An Efficient Communication Framework for Scheduling Unequal-sized Tensor Blocks"):
// blocks of unequal size, one at a time, in two phases: while the backward pass runs, and after it.
//
// The paper speaks of layers; here, as everywhere, the units are tensors, and a tensor is ready when its layer's
// backward ends. Times are whole picoseconds, so that Eq. 12 equals the replay of the plan exactly. What the paper
// leaves open, or has wrong: docs/schedules.md, "How US-Byte is read".
#pragma once

#include <cstdint>
#include <vector>

#include "sim/schedule/strategy.hpp"

namespace allreplay {

/// P₁ or P₂ of the paper: by tensor, from the input; smaller goes first. A permutation of 0 … L − 1.
using Priorities = std::vector<std::uint32_t>;

class UsByteModel {
 public:
  UsByteModel(const Profile& profile, BlockCost cost, Bytes partition);

  /// One all-reduce: bytes of one tensor.
  struct Operation {
    Slice slice;
    Time start{0};  ///< τ_ar, since the start of the backward pass
  };
  struct Schedule {
    std::vector<Operation> operations;
    std::size_t first_phase = 0;  ///< δ₁: how many of them are of the first phase
    Time iteration{0};            ///< Eq. 12
    double exact = 0;             ///< the same with no time rounded, ps
  };

  /// Algorithm 1 with P₁, then what is left of every tensor in the order of P₂ (Eq. 9-12).
  Schedule schedule(const Priorities& first, const Priorities& second) const;

  /// Algorithm 2: P₁, found by raising one tensor after another above those that are ready while it travels.
  Priorities greedy() const;

  /// P = 0 … L − 1: the input first.
  Priorities sequential() const;

 private:
  Time cost_of(const Slice& slice) const { return cost_(slice.bytes, slice.offset == 0 ? 1 : 0); }
  Bytes merged(TensorId tensor, Bytes sent, Time left) const;
  Time iteration(const std::vector<Operation>& operations) const;
  double exact_iteration(const Schedule& schedule) const;

  const Profile& profile_;
  BlockCost cost_;
  Bytes partition_;
  std::vector<Time> ready_;  // by tensor
};

/// Theorem 1: in the second phase the sequential order is the best.
BucketSchedule schedule_us_byte(const PlanRequest& request);

}  // namespace allreplay
