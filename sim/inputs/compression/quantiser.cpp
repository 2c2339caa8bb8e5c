#include <algorithm>
#include <bit>
#include <cmath>

#include <Eigen/Core>

#include "sim/base/core/random.hpp"
#include "sim/inputs/compression/kinds.hpp"

namespace allreplay {

namespace {

static_assert(sizeof(Eigen::half) == 2);
using Floats = Eigen::Map<Eigen::ArrayXf>;
using ConstFloats = Eigen::Map<const Eigen::ArrayXf>;
using Halves = Eigen::Map<Eigen::Array<Eigen::half, Eigen::Dynamic, 1>>;
using ConstHalves = Eigen::Map<const Eigen::Array<Eigen::half, Eigen::Dynamic, 1>>;

class Half : public Compressor {
 public:
  EncodedPayload encode(std::span<const float> values) override {
    EncodedPayload payload(2 * values.size());
    const auto n = static_cast<Eigen::Index>(values.size());
    Halves(reinterpret_cast<Eigen::half*>(payload.data()), n) = ConstFloats(values.data(), n).cast<Eigen::half>();
    return payload;
  }

  void decode(const EncodedPayload& payload, std::span<float> out) const override {
    require_size(payload, 2 * out.size());
    const auto n = static_cast<Eigen::Index>(out.size());
    Floats(out.data(), n) = ConstHalves(reinterpret_cast<const Eigen::half*>(payload.data()), n).cast<float>();
  }
};

// Rounds each element to one of 2^bits − 1 evenly spaced points from −scale to +scale, zero among them (in QSGD's terms
// s = 2^(bits−1) − 1 levels and the sign); with one bit, to an end. It chooses between the two neighbouring points at
// random, so that the expectation is the element. The scale is the largest magnitude: with the Euclidean norm of QSGD's
// definition, which buckets of some hundred elements keep small, most of a long vector would become zero.
class Qsgd : public Compressor {
 public:
  Qsgd(int bits, Random random)
      : bits_(bits), middle_(std::max(1, (1 << bits) - 2) / 2.0), random_(std::move(random)) {}

  EncodedPayload encode(std::span<const float> values) override {
    std::uint32_t largest = 0;  // the bits of a magnitude, which are ordered as magnitudes, NaN last
    for (const float value : values) largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7fffffffu);
    const float scale = std::bit_cast<float>(largest);
    const bool usable = scale > 0 && std::isfinite(scale);  // otherwise all become 0 · scale

    EncodedPayload payload(4 + packed_size(values.size(), bits_));
    put<float>(payload, 0, std::span(&scale, 1));
    BitWriter codes(payload, 4);
    for (const float value : values) {
      const double point = middle_ + (usable ? value / double{scale} * middle_ : 0);
      const double below = std::floor(point);
      codes.put(static_cast<std::uint32_t>(below) + (random_.uniform() < point - below), bits_);
    }
    codes.finish();
    return payload;
  }

  void decode(const EncodedPayload& payload, std::span<float> out) const override {
    require_size(payload, 4 + packed_size(out.size(), bits_));
    float scale = 0;
    get<float>(payload, 0, std::span(&scale, 1));
    BitReader codes(payload, 4);
    for (float& value : out) value = static_cast<float>(scale * ((codes.get(bits_) - middle_) / middle_));
  }

 private:
  int bits_;
  double middle_;  // the code of zero: half the number of steps from end to end
  Random random_;
};

}  // namespace

std::unique_ptr<Compressor> make_half() { return std::make_unique<Half>(); }

std::unique_ptr<Compressor> make_qsgd(const CompressionOptions& options, std::uint64_t stream) {
  return std::make_unique<Qsgd>(static_cast<int>(options.bits), Random(options.seed, stream));
}

}  // namespace allreplay
