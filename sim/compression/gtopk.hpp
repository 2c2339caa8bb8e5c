// gTop-k (Shi et al. 2019): the k strongest entries of a sum over workers, found on a tree or by brute force.
#pragma once

#include <vector>

#include "sim/compression/sparse.hpp"

namespace allreplay {

struct GlobalTopK {
  Sparse result;                ///< on every rank
  std::vector<Sparse> dropped;  ///< what each rank's selections have left out
};

/// Algorithm 3, gTopKAllReduce, over ranks 0…P−1: in round i (from 1) each second one of the ranks 0, 2^(i−1),
/// 2·2^(i−1), … sends its k entries to the one before, which keeps the k strongest of the sum; rank 0 broadcasts what
/// remains. (The step is printed as i; Fig. 3 and log₂P rounds need 2^(i−1).) P = local.size(), a power of two; exactly
/// k entries where every rank has k.
GlobalTopK gtopk_allreduce(std::vector<Sparse> local, std::size_t k);

/// Algorithm 2, lines 9-13: everything is gathered, and the k strongest entries of the sum are kept.
Sparse naive_gtopk(const std::vector<Sparse>& local, std::size_t k);

/// What becomes of entries that a worker has selected and that are not applied.
enum class Residuals {
  AsPrinted,   ///< Algorithm 4, line 10: a worker takes back its own entries outside the final mask
  Conserving,  ///< a receiver keeps what its selections drop: nothing is lost
};

/// What rank `rank` adds to its residual after the exchange of `local`.
Sparse put_back(Residuals residuals, const Sparse& local, const GlobalTopK& exchanged, std::size_t rank);

}  // namespace allreplay
