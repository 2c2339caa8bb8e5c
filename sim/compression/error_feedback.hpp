// Error feedback: what a codec did not send is added to the next gradient, so that it is late and not lost.
#pragma once

#include <span>
#include <vector>

#include "sim/compression/compressor.hpp"

namespace allreplay {

/// One worker's memory. With momentum m > 0 it is Deep Gradient Compression's momentum correction with momentum factor
/// masking (Lin et al. 2018): velocity u ← m·u + gradient, residual v ← v + u, and both start anew
/// where an element was sent.
class ErrorFeedback {
 public:
  explicit ErrorFeedback(std::size_t elements, float momentum = 0);

  /// Encodes residual + gradient, and keeps the difference to what the payload says.
  EncodedPayload encode(Compressor& compressor, std::span<const float> gradient);

  /// What is still to be sent.
  std::span<float> residual() { return residual_; }

 private:
  float momentum_;
  std::vector<float> residual_, velocity_, sent_;
};

}  // namespace allreplay
