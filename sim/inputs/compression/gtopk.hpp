// gTop-k (Shi et al. 2019): finds the k strongest entries of a sum over workers, on a tree.
#pragma once

#include <vector>

#include "sim/inputs/compression/sparse.hpp"

namespace allreplay {

struct GlobalTopK {
  Sparse result;                ///< on every rank
  std::vector<Sparse> dropped;  ///< by rank, the entries that its selections dropped
};

/// Algorithm 3, gTopKAllReduce, over ranks 0…P−1: in round i (from 1) every second one of the ranks 0, 2^(i−1),
/// 2·2^(i−1), … sends its k entries to the one before it, which keeps the k strongest of the sum; finally rank 0
/// broadcasts. (The paper prints the step as i; Fig. 3 and log₂P rounds need 2^(i−1).) REQUIRES: P = local.size() is a
/// power of two. The result has exactly k entries if every rank has k.
GlobalTopK gtopk_allreduce(std::vector<Sparse> local, std::size_t k);

/// The rule for entries that a worker has selected and that are not applied.
enum class Residuals {
  AsPrinted,   ///< Algorithm 4, line 10: a worker takes back its own entries that are outside the final mask
  Conserving,  ///< a receiver keeps what its selections drop, so that nothing is lost
};

/// Returns what rank `rank` adds to its residual after the exchange of `local`.
Sparse put_back(Residuals residuals, const Sparse& local, const GlobalTopK& exchanged, std::size_t rank);

}  // namespace allreplay
