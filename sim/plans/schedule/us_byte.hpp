// US-Byte (Gao et al., "US-Byte: An Efficient Communication Framework for Scheduling Unequal-sized Tensor Blocks"):
// blocks of unequal size, one at a time, in two phases: during the backward pass, and after it.
//
// The paper's units are layers; here they are tensors, and a tensor is ready when its layer's backward task ends. Times
// are whole picoseconds, so that Eq. 12 equals the replay of the plan exactly. docs/schedules.md, "How US-Byte is
// read", lists what the paper leaves open or has wrong.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

/// P₁ or P₂ of the paper: by tensor, from the input on; smaller goes first. A permutation of 0 … L − 1.
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
    std::size_t first_phase = 0;  ///< δ₁: number of operations in the first phase
    Time iteration{0};            ///< Eq. 12
    double exact = 0;             ///< the same in ps, without rounding
  };

  /// Algorithm 1 with P₁, then the rest of every tensor in the order of P₂ (Eq. 9-12).
  Schedule schedule(const Priorities& first, const Priorities& second) const;

  /// Algorithm 2: finds P₁ by raising one tensor after another above those that become ready while it is sent.
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

}  // namespace allreplay
