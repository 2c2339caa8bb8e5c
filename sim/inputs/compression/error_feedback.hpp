// Error feedback: values that a codec did not send are added to the next gradient, so that they are delayed instead of
// lost.
#pragma once

#include <span>
#include <vector>

#include "sim/inputs/compression/compressor.hpp"

namespace allreplay {

/// One worker's residual. With a momentum m > 0 this is the momentum correction with factor masking of Deep Gradient
/// Compression (Lin et al. 2018): velocity u ← m·u + gradient, residual v ← v + u, both reset when an element is sent.
class ErrorFeedback {
 public:
  explicit ErrorFeedback(std::size_t elements, float momentum = 0);

  /// Encodes residual + gradient. The new residual is the part that the payload does not contain.
  EncodedPayload encode(Compressor& compressor, std::span<const float> gradient);

  /// The part of the gradients that has not been sent yet.
  std::span<float> residual() { return residual_; }

 private:
  float momentum_;
  std::vector<float> residual_, velocity_, sent_;
};

}  // namespace allreplay
