#include <array>
#include <vector>

#include <Eigen/Core>

#include "sim/inputs/compression/kinds.hpp"

namespace allreplay {

namespace {

// The sum of f(element) in double, in an order that does not depend on the processor: eight lanes, added up at the end.
template <class F>
double sum_over(std::span<const float> values, const F& f) {
  using Lanes = Eigen::Array<double, 8, 1>;
  Lanes lanes = Lanes::Zero();
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8)
    lanes += f(Eigen::Map<const Eigen::Array<float, 8, 1>>(values.data() + i).cast<double>());
  for (std::size_t lane = 0; i < values.size(); ++i, ++lane) {
    const Eigen::Array<double, 1, 1> one(double{values[i]});
    lanes[lane] += f(one)[0];
  }
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// The values of a clear and of a set bit.
using Means = std::array<float, 2>;

class Sign : public Compressor {
 public:
  Sign(Scale scale, float momentum) : scale_(scale), momentum_(momentum) {}

  EncodedPayload encode(std::span<const float> gradient) override {
    const std::span<const float> values = momentum_ > 0 ? average(gradient) : gradient;
    const std::size_t head = 4 * numbers();
    EncodedPayload payload(head + packed_size(values.size(), 1));
    std::size_t set = 0;
    for (std::size_t i = 0; i < values.size();) {
      unsigned byte = 0;
      const std::size_t end = std::min(values.size(), i / 8 * 8 + 8);
      for (unsigned bit = 0; i < end; ++i, ++bit) byte |= unsigned{values[i] >= 0} << bit;
      payload[head + (i - 1) / 8] = static_cast<std::byte>(byte);
      set += static_cast<std::size_t>(std::popcount(byte));
    }
    const Means means = means_of(values, set);
    put<float>(payload, 0, std::span(means).last(numbers()));
    return payload;
  }

  void decode(const EncodedPayload& payload, std::span<float> out) const override {
    const std::size_t head = 4 * numbers();
    require_size(payload, head + packed_size(out.size(), 1));
    Means means{-1, 1};
    get<float>(payload, 0, std::span(means).last(numbers()));
    if (scale_ == Scale::Mean) means[0] = -means[1];
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = means[std::to_integer<unsigned>(payload[head + i / 8]) >> (i % 8) & 1];
  }

 private:
  // The number of means at the start of the payload.
  std::size_t numbers() const { return scale_ == Scale::TwoMeans ? 2 : scale_ == Scale::Mean ? 1 : 0; }

  Means means_of(std::span<const float> values, std::size_t set) const {
    const auto mean = [](double sum, std::size_t count) {
      return count == 0 ? 0.0f : static_cast<float>(sum / static_cast<double>(count));
    };
    switch (scale_) {
      case Scale::One:
        break;
      case Scale::Mean: {
        const float magnitude = mean(sum_over(values, [](const auto& x) { return x.abs().eval(); }), values.size());
        return {-magnitude, magnitude};
      }
      case Scale::TwoMeans: {
        // Computes the two sums without branches on the sign, which no processor can predict.
        const double total = sum_over(values, [](const auto& x) { return x.eval(); });
        const double magnitude = sum_over(values, [](const auto& x) { return x.abs().eval(); });
        return {mean((total - magnitude) / 2, values.size() - set), mean((total + magnitude) / 2, set)};
      }
    }
    return {-1, 1};
  }

  std::span<const float> average(std::span<const float> gradient) {
    average_.resize(gradient.size());
    for (std::size_t i = 0; i < gradient.size(); ++i)
      average_[i] = momentum_ * average_[i] + (1 - momentum_) * gradient[i];
    return average_;
  }

  Scale scale_;
  float momentum_;
  std::vector<float> average_;  // with momentum: the running average of the gradients
};

}  // namespace

std::unique_ptr<Compressor> make_sign(Scale scale, float momentum) { return std::make_unique<Sign>(scale, momentum); }

}  // namespace allreplay
