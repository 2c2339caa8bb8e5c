// Measures a codec on random vectors: bytes, times on this processor, and errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/core/named.hpp"
#include "sim/inputs/compression/exchange.hpp"

namespace allreplay {

/// The distribution of the gradients' elements. All have mean 0; the tails become heavier.
enum class Distribution {
  Normal,     ///< N(0, 1)
  Laplace,    ///< ± an exponential
  Lognormal,  ///< ± exp(N(0, 1))
};

inline constexpr Word<Distribution> distributions[] = {
    {Distribution::Normal, "normal"}, {Distribution::Laplace, "laplace"}, {Distribution::Lognormal, "lognormal"}};

inline constexpr Word<Residuals> residual_rules[] = {{Residuals::Conserving, "conserving"},
                                                     {Residuals::AsPrinted, "as-printed"}};

struct CodecRequest {
  const CompressorKind* codec = nullptr;
  CompressionOptions options;
  std::int64_t elements = 0;
  std::int64_t workers = 1;
  std::int64_t iterations = 10;
  std::int64_t repetitions = 5;  ///< measurements of each time, of which the median counts
  Distribution distribution = Distribution::Normal;
  double correlation = 0;  ///< between workers' gradients, in [0, 1]
  Residuals residuals = Residuals::Conserving;
};

/// The most workers × elements: more than most networks have, and some twenty bytes each fit in most machines' memory.
constexpr std::int64_t most_elements = std::int64_t{1} << 25;

/// One worker encodes and decodes one gradient x. Errors are relative: ‖y − x‖ / ‖x‖.
struct RoundTrip {
  std::size_t bytes = 0;
  double encode_s = 0, decode_s = 0;  ///< processor time, the median of `repetitions`
  double error = 0;                   ///< of y = decode(encode(x))
  double cosine = 0;      ///< cosine of the angle between y and x: sign codecs preserve mainly the direction
  double mean_error = 0;  ///< of the mean over `iterations` round trips of x: tends to the bias
  std::optional<double> mean_error_feedback;  ///< the same with error feedback, if the method has it
};

/// Results of `workers` workers over `iterations` iterations with new gradients.
struct Aggregated {
  double bytes = 0;            ///< sent per iteration (and as many received) by the worker that sends most
  double error = 0;            ///< of the first iteration's result, against the true mean of the gradients
  double total_error = 0;      ///< of the sum of all results, against the sum of all true means
  std::optional<double> lost;  ///< gtopk: Σ‖neither applied nor kept‖₁ / Σ‖applied‖₁ over the iterations
};

struct CodecMeasurement {
  CodecRequest request;
  std::string device;  ///< the processor's name for itself
  RoundTrip round_trip;
  std::optional<Aggregated> aggregated;  ///< if there are several workers
};

/// REQUIRES: values within the bounds above, and a power of two of workers for gTop-k's tree.
CodecMeasurement measure_codec(const CodecRequest& request);

}  // namespace allreplay
