// Codecs at work on real vectors. What they cost in time is sim/schedule's; that it assumes the right bytes is tested
// against these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/compression/payload.hpp"
#include "sim/core/error.hpp"

namespace allreplay {

struct CompressionOptions {
  double density = 0.001;  ///< sparsifying codecs: the share of elements that is sent, in (0, 1]
  std::int64_t bits = 8;   ///< qsgd: bits per element, sign included, in [1, 16]
  std::uint64_t seed = 1;  ///< of all that is drawn
};

/// One worker's end of a codec: it may draw at random, and signum keeps a momentum.
class Compressor {
 public:
  virtual ~Compressor() = default;

  /// The payload of n > 0 elements; its size depends on n and the options alone. Not finite values are no fault: they
  /// come out not finite, or stand where they stood.
  virtual EncodedPayload encode(std::span<const float> values) = 0;

  /// Writes all elements. Throws std::logic_error when the payload is not one of so many elements.
  virtual void decode(const EncodedPayload& payload, std::span<float> out) const = 0;
};

/// How payloads of several workers become one gradient.
enum class Aggregation {
  AllReduce,  ///< summed on the way, in the codec's own numbers
  AllGather,  ///< every worker decodes all payloads
  GTopKTree,  ///< gTop-k's Algorithm 3
};

/// A codec by name.
struct CompressorKind {
  std::string_view name;
  Aggregation aggregation;
  bool error_feedback;  ///< whether the method keeps what it did not send for the next iteration
  /// Workers have different `stream`s, so that they draw independently.
  std::unique_ptr<Compressor> (*make)(const CompressionOptions& options, std::uint64_t stream);
};

/// All of them.
std::span<const CompressorKind> compressors();

/// Throws InputError at `place`, naming the nearest one.
const CompressorKind& find_compressor(std::string_view name, const SourceLocation& place);

/// The momentum of signum (Bernstein et al. 2018).
constexpr float signum_momentum = 0.9f;

}  // namespace allreplay
