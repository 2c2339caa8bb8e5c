// Codecs that compress real vectors. Simulations assume their payloads' sizes (sim/plans/schedule); tests check these
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/inputs/compression/payload.hpp"

namespace allreplay {

struct CompressionOptions {
  double density = 0.001;  ///< sparsifying codecs: the share of elements that is sent, in (0, 1]
  std::int64_t bits = 8;   ///< qsgd: bits per element, sign included, in [1, 16]
  std::uint64_t seed = 1;  ///< of all random numbers
};

/// One worker's encoder and decoder: it may draw random numbers, and signum keeps a momentum.
class Compressor {
 public:
  virtual ~Compressor() = default;

  /// Encodes n > 0 elements. The payload's size depends only on n and the options. Infinities and NaN are accepted, and
  /// decode to values that are not finite, or stay in place.
  virtual EncodedPayload encode(std::span<const float> values) = 0;

  /// Writes all elements. Throws std::logic_error if the payload is not one of that many elements.
  virtual void decode(const EncodedPayload& payload, std::span<float> out) const = 0;
};

/// The method that combines the payloads of several workers into one gradient.
enum class Aggregation {
  AllReduce,  ///< partial sums are encoded again on the way
  AllGather,  ///< every worker decodes all payloads
  GTopKTree,  ///< gTop-k's Algorithm 3
};

/// A codec by name.
struct CompressorKind {
  std::string_view name;
  Aggregation aggregation;
  bool error_feedback;  ///< true if the method keeps unsent values for the next iteration
  /// Makes a worker's compressor; workers have different `stream`s, so that they draw independently.
  std::unique_ptr<Compressor> (*make)(const CompressionOptions& options, std::uint64_t stream);
};

/// All codecs.
std::span<const CompressorKind> compressors();

/// Finds a codec by name. Throws InputError at `place`, which suggests the nearest name.
const CompressorKind& find_compressor(std::string_view name, const SourceLocation& place);

/// The momentum of signum (Bernstein et al. 2018).
constexpr float signum_momentum = 0.9f;

}  // namespace allreplay
