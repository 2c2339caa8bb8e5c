#include "sim/inputs/compression/sparse.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

namespace allreplay {

void require_size(const EncodedPayload& payload, std::size_t bytes) {
  if (payload.size() != bytes)
    throw std::logic_error(fmt::format("a payload of {} bytes instead of {}", payload.size(), bytes));
}

namespace {

// The bits of a float without its sign, which are ordered as magnitudes, NaN last.
std::uint32_t magnitude(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu; }

// One number per value, by which values are sorted: by magnitude, then the lower position is larger.
constexpr std::uint32_t last = std::numeric_limits<std::uint32_t>::max();
std::uint64_t key(float value, std::uint32_t position) {
  return std::uint64_t{magnitude(value)} << 32 | (last - position);
}
std::uint32_t position_of(std::uint64_t key) { return last - static_cast<std::uint32_t>(key); }

std::vector<std::uint32_t> largest(std::vector<std::uint64_t> keys, std::size_t k) {
  if (k < keys.size()) std::nth_element(keys.begin(), keys.begin() + k, keys.end(), std::greater<>());
  std::vector<std::uint32_t> positions(k);
  std::transform(keys.begin(), keys.begin() + k, positions.begin(), position_of);
  std::sort(positions.begin(), positions.end());
  return positions;
}

}  // namespace

std::size_t kept(double density, std::size_t n) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(density * static_cast<double>(n))));
}

std::vector<std::uint32_t> strongest(std::span<const float> values, std::size_t k) {
  std::vector<std::uint64_t> keys(values.size());
  for (std::uint32_t i = 0; i < values.size(); ++i) keys[i] = key(values[i], i);
  return largest(std::move(keys), k);
}

std::vector<std::uint32_t> strongest_by_sample(std::span<const float> values, std::size_t k, Random& random) {
  const std::size_t n = values.size(), stride = std::min<std::size_t>(n, 100);
  std::vector<std::uint32_t> sample;
  sample.reserve(n / stride + 1);
  for (std::size_t i = random.below(stride); i < n; i += stride) sample.push_back(magnitude(values[i]));
  std::sort(sample.begin(), sample.end(), std::greater<>());

  std::vector<std::uint64_t> keys;
  for (std::size_t rank = (k * sample.size() + n - 1) / n; rank <= sample.size(); rank *= 2) {
    const std::uint32_t threshold = sample[rank - 1];
    keys.clear();
    for (std::uint32_t i = 0; i < n; ++i)
      if (magnitude(values[i]) >= threshold) keys.push_back(key(values[i], i));
    if (keys.size() >= k) return largest(std::move(keys), k);
  }
  return strongest(values, k);
}

std::vector<std::uint32_t> random_positions(std::size_t n, std::size_t k, Random& random) {
  // Floyd's sampling (Bentley and Floyd, CACM 30(9), 1987): one draw per position, for any n.
  std::vector<bool> taken(n);
  std::vector<std::uint32_t> positions;
  positions.reserve(k);
  for (std::size_t end = n - k; end < n; ++end) {
    std::size_t position = random.below(end + 1);
    if (taken[position]) position = end;
    taken[position] = true;
    positions.push_back(static_cast<std::uint32_t>(position));
  }
  std::sort(positions.begin(), positions.end());
  return positions;
}

Sparse entries_at(std::span<const float> values, std::vector<std::uint32_t> positions) {
  Sparse entries{std::move(positions), {}};
  entries.values.reserve(entries.size());
  for (const std::uint32_t position : entries.indices) entries.values.push_back(values[position]);
  return entries;
}

Sparse sum(const Sparse& a, const Sparse& b) {
  Sparse both;
  both.indices.reserve(a.size() + b.size());
  both.values.reserve(a.size() + b.size());
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const bool from_a = j == b.size() || (i < a.size() && a.indices[i] <= b.indices[j]);
    const bool from_b = i == a.size() || (j < b.size() && b.indices[j] <= a.indices[i]);
    both.indices.push_back(from_a ? a.indices[i] : b.indices[j]);
    both.values.push_back((from_a ? a.values[i] : 0) + (from_b ? b.values[j] : 0));
    i += from_a;
    j += from_b;
  }
  return both;
}

Sparse masked(const Sparse& a, const Sparse& mask, bool has) {
  Sparse some;
  std::size_t j = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    while (j < mask.size() && mask.indices[j] < a.indices[i]) ++j;
    if ((j < mask.size() && mask.indices[j] == a.indices[i]) == has) {
      some.indices.push_back(a.indices[i]);
      some.values.push_back(a.values[i]);
    }
  }
  return some;
}

Selection select(const Sparse& from, std::size_t k) {
  // Positions in `from` are ordered as its indices, so ties also go to the lower index.
  std::vector<std::uint32_t> positions = strongest(from.values, std::min(k, from.size()));
  Sparse kept;
  for (const std::uint32_t position : positions) kept.indices.push_back(from.indices[position]);
  kept.values = entries_at(from.values, std::move(positions)).values;
  Sparse dropped = masked(from, kept, false);
  return {std::move(kept), std::move(dropped)};
}

void add(const Sparse& entries, std::span<float> out, float scale) {
  for (std::size_t i = 0; i < entries.size(); ++i) out[entries.indices[i]] += scale * entries.values[i];
}

EncodedPayload write_sparse(const Sparse& entries) {
  EncodedPayload payload(8 * entries.size());
  put<float>(payload, 0, entries.values);
  put<std::uint32_t>(payload, 4 * entries.size(), entries.indices);
  return payload;
}

Sparse read_sparse(const EncodedPayload& payload) {
  require_size(payload, payload.size() / 8 * 8);
  const std::size_t k = payload.size() / 8;
  Sparse entries{std::vector<std::uint32_t>(k), std::vector<float>(k)};
  get<float>(payload, 0, entries.values);
  get<std::uint32_t>(payload, 4 * k, entries.indices);
  return entries;
}

}  // namespace allreplay
