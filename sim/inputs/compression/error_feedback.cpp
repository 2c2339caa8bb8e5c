#include "sim/inputs/compression/error_feedback.hpp"

namespace allreplay {

ErrorFeedback::ErrorFeedback(std::size_t elements, float momentum)
    : momentum_(momentum), residual_(elements), velocity_(momentum > 0 ? elements : 0), sent_(elements) {}

EncodedPayload ErrorFeedback::encode(Compressor& compressor, std::span<const float> gradient) {
  const bool corrected = momentum_ > 0;
  for (std::size_t i = 0; i < residual_.size(); ++i) {
    if (corrected) velocity_[i] = momentum_ * velocity_[i] + gradient[i];
    residual_[i] += corrected ? velocity_[i] : gradient[i];
  }
  EncodedPayload payload = compressor.encode(residual_);
  compressor.decode(payload, sent_);
  for (std::size_t i = 0; i < residual_.size(); ++i) {
    residual_[i] -= sent_[i];
    if (corrected && sent_[i] != 0) velocity_[i] = 0;
  }
  return payload;
}

}  // namespace allreplay
