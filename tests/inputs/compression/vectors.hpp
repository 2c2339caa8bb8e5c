// Vectors for the tests of compression.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/core/random.hpp"
#include "sim/inputs/compression/compressor.hpp"

using Floats = std::vector<float>;

inline Floats normals(std::size_t n, std::uint64_t seed) {
  allreplay::Random random(seed, 99);
  Floats values(n);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

// Returns integers from −most to most, whose sums are exact.
inline Floats whole_numbers(std::size_t n, std::int64_t most, std::uint64_t seed) {
  allreplay::Random random(seed, 98);
  Floats values(n);
  for (float& value : values)
    value =
        static_cast<float>(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(2 * most + 1))) - most);
  return values;
}

inline std::unique_ptr<allreplay::Compressor> compressor(const std::string& name,
                                                         const allreplay::CompressionOptions& options = {}) {
  return allreplay::find_compressor(name, {"test", ""}).make(options, 0);
}

inline Floats decoded(const allreplay::Compressor& compressor, const allreplay::EncodedPayload& payload,
                      std::size_t n) {
  Floats out(n, -77.0f);  // shows elements that decode() does not write
  compressor.decode(payload, out);
  return out;
}
