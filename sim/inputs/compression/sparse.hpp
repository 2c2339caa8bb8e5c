// Sparse vectors: selecting entries, adding, and the format on the wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/core/random.hpp"
#include "sim/inputs/compression/payload.hpp"

namespace allreplay {

/// Entries of a vector by increasing index, each index once. A value may be zero, as the sum of opposite values.
struct Sparse {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;

  std::size_t size() const { return indices.size(); }
  bool operator==(const Sparse&) const = default;
};

/// The number of n > 0 elements that a sparsifying codec keeps: max(1, round(density·n)), density in (0, 1].
std::size_t kept(double density, std::size_t n);

/// The positions of the k values of largest magnitude (0 < k <= size), increasing. Ties go to the lower position; NaN
/// counts as larger than all numbers, so that it is not hidden.
std::vector<std::uint32_t> strongest(std::span<const float> values, std::size_t k);

/// The same positions, found with a threshold as in Deep Gradient Compression (Lin et al. 2018): estimated from a
/// sample of 1 % of the values, then the selection is exact among the values above it. If fewer than k are, the paper
/// sends fewer; here the threshold's rank in the sample is doubled until k are.
std::vector<std::uint32_t> strongest_by_sample(std::span<const float> values, std::size_t k, Random& random);

/// Draws k of the positions 0…n−1, each set equally likely, in increasing order.
std::vector<std::uint32_t> random_positions(std::size_t n, std::size_t k, Random& random);

/// The entries of `values` at `positions` (increasing).
Sparse entries_at(std::span<const float> values, std::vector<std::uint32_t> positions);

/// The sum, with every index that either has.
Sparse sum(const Sparse& a, const Sparse& b);

/// The entries of `a` at indices that `mask` has or, unless `has`, does not have.
Sparse masked(const Sparse& a, const Sparse& mask, bool has);

struct Selection {
  Sparse kept, dropped;
};

/// Splits entries into the k strongest (all, if there are fewer) and the others.
Selection select(const Sparse& from, std::size_t k);

/// out[i] += scale · entry.
void add(const Sparse& entries, std::span<float> out, float scale = 1);

// On the wire: all values, then all indices, 4 bytes each.
EncodedPayload write_sparse(const Sparse& entries);
Sparse read_sparse(const EncodedPayload& payload);

}  // namespace allreplay
