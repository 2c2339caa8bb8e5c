// Data-parallel workers that exchange compressed gradients, iteration by iteration.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/compression/compressor.hpp"
#include "sim/compression/error_feedback.hpp"
#include "sim/compression/gtopk.hpp"

namespace allreplay {

/// The most bytes that one worker sends, and as many that it receives, when `workers` exchange payloads of `bytes`
/// bytes. All-reduce: 2(P−1)/P payloads (a ring). All-gather: the P−1 other payloads arrive, and as much is sent on.
/// gTop-k's tree: rank 0 receives log₂P payloads, and sends as many in the broadcast.
double traffic(Aggregation aggregation, std::int64_t workers, std::size_t bytes);

/// P workers with a compressor each, and a residual each where the method has error feedback.
class Exchange {
 public:
  /// `workers` is a power of two for gTop-k's tree.
  Exchange(const CompressorKind& kind, const CompressionOptions& options, std::int64_t workers, std::size_t elements,
           Residuals residuals = Residuals::Conserving);

  /// One iteration: `gradients[g]` is worker g's. Returns the mean over the workers of what is applied.
  std::vector<float> step(std::span<const std::vector<float>> gradients);

  /// The sum of all workers' residuals: what is late. Zeros where the method has no error feedback.
  std::vector<double> owed();

  std::size_t payload_bytes() const { return payload_bytes_; }  ///< of the last step

 private:
  std::vector<float> all_reduce(std::span<const EncodedPayload> payloads);
  std::vector<float> all_gather(std::span<const EncodedPayload> payloads) const;
  std::vector<float> gtopk(std::span<const EncodedPayload> payloads);

  CompressorKind kind_;
  std::size_t elements_;
  Residuals residuals_;
  std::vector<std::unique_ptr<Compressor>> compressors_;
  std::vector<ErrorFeedback> feedback_;  // empty where the method has none
  std::size_t payload_bytes_ = 0;
};

}  // namespace allreplay
