// Sparse vectors: which entries are selected, and what the sum of two looks like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/compression/payload.hpp"
#include "sim/core/random.hpp"

namespace allreplay {

/// Entries of a vector, by increasing index, each index once. An entry may be zero: the sum of opposite ones.
struct Sparse {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;

  std::size_t size() const { return indices.size(); }
  bool operator==(const Sparse&) const = default;
};

/// How many of n > 0 elements a sparsifying codec keeps: max(1, round(density·n)), density in (0, 1].
std::size_t kept(double density, std::size_t n);

/// The positions of the k values of largest magnitude (0 < k <= size), increasing. Ties go to the lower position; NaN
/// is larger than all, so that it is not hidden.
std::vector<std::uint32_t> strongest(std::span<const float> values, std::size_t k);

/// The same positions, found as Deep Gradient Compression (Lin et al. 2018) finds a threshold: from a sample
/// of a hundredth of the values, then exactly among those that pass. Where fewer than k pass, the paper sends fewer;
/// here the threshold goes down to twice the rank in the sample, until k pass.
std::vector<std::uint32_t> strongest_by_sample(std::span<const float> values, std::size_t k, Random& random);

/// k of the positions 0…n−1, each set equally likely, increasing.
std::vector<std::uint32_t> random_positions(std::size_t n, std::size_t k, Random& random);

/// The entries of `values` at `positions` (increasing).
Sparse entries_at(std::span<const float> values, std::vector<std::uint32_t> positions);

/// The sum: every index that either has.
Sparse sum(const Sparse& a, const Sparse& b);

/// What is in `a` at indices that `mask` has, or has not.
Sparse masked(const Sparse& a, const Sparse& mask, bool has);

struct Selection {
  Sparse kept, dropped;
};

/// The k strongest entries (all, where there are fewer), and the others.
Selection select(const Sparse& from, std::size_t k);

/// out[i] += scale · entry.
void add(const Sparse& entries, std::span<float> out, float scale = 1);

// On the wire: all values, then all indices, 4 bytes each.
EncodedPayload write_sparse(const Sparse& entries);
Sparse read_sparse(const EncodedPayload& payload);

}  // namespace allreplay
