// Data-parallel workers that exchange compressed gradients, iteration by iteration.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/inputs/compression/compressor.hpp"
#include "sim/inputs/compression/error_feedback.hpp"
#include "sim/inputs/compression/gtopk.hpp"

namespace allreplay {

/// The bytes sent by the worker that sends most (one receives as many) if `workers` exchange payloads of `bytes` bytes.
/// All-reduce: 2(P−1)/P payloads (a ring). All-gather: P−1 payloads arrive, and as many are passed on. gTop-k's tree:
/// rank 0 receives log₂P payloads, and sends as many in the broadcast.
double traffic(Aggregation aggregation, std::int64_t workers, std::size_t bytes);

/// P workers, each with a compressor, and with a residual if the method has error feedback.
class Exchange {
 public:
  /// REQUIRES: for gTop-k's tree `workers` is a power of two.
  Exchange(const CompressorKind& kind, const CompressionOptions& options, std::int64_t workers, std::size_t elements,
           Residuals residuals = Residuals::Conserving);

  /// Runs one iteration; `gradients[g]` is worker g's. Returns the mean of the updates that the workers apply.
  std::vector<float> step(std::span<const std::vector<float>> gradients);

  /// The sum of all workers' residuals, which is still to be sent. Zeros if the method has no error feedback.
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
  std::vector<ErrorFeedback> feedback_;  // empty if the method has none
  std::size_t payload_bytes_ = 0;
};

}  // namespace allreplay
