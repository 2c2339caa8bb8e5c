// The bytes that each codec sends, and the values that come back.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/inputs/compression/vectors.hpp"

#include "sim/inputs/compression/compressor.hpp"
#include "sim/inputs/compression/error_feedback.hpp"
#include "sim/inputs/compression/sparse.hpp"

using namespace allreplay;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

double norm(const Floats& x) {
  double squares = 0;
  for (const float value : x) squares += double{value} * value;
  return std::sqrt(squares);
}

}  // namespace

// The formulas of the timing model: 4 bytes per value and per index, 2 per half, bits packed to whole bytes, 4 per
// scale.
TEST_CASE("payloads have the bytes that the timing model states") {
  for (const std::size_t n : {1, 7, 8, 9, 100, 1500, 4096, 100'003}) {
    const Floats x = normals(n, n);
    const auto bytes = [&](const std::string& name, const CompressionOptions& options = {}) {
      return compressor(name, options)->encode(x).size();
    };
    for (const double density : {0.001, 0.01, 0.3, 1.0}) {
      const auto k = static_cast<std::size_t>(std::max(1.0, std::round(density * static_cast<double>(n))));
      for (const char* name : {"topk", "gtopk", "dgc", "randk"}) CHECK(bytes(name, {.density = density}) == 8 * k);
    }
    CHECK(bytes("fp16") == 2 * n);
    for (std::int64_t bits = 1; bits <= 16; ++bits) CHECK(bytes("qsgd", {.bits = bits}) == (n * bits + 7) / 8 + 4);
    CHECK(bytes("signsgd") == (n + 7) / 8);
    CHECK(bytes("signum") == (n + 7) / 8);
    CHECK(bytes("ef-signsgd") == (n + 7) / 8 + 4);
    CHECK(bytes("onebit") == (n + 7) / 8 + 8);
  }
}

TEST_CASE("topk, gtopk and dgc send the k strongest; randk any k, other ones each time") {
  const Floats x = normals(1000, 1);
  const CompressionOptions options{.density = 0.05};
  Floats expected(x.size());
  for (const std::uint32_t i : strongest(x, 50)) expected[i] = x[i];
  for (const char* name : {"topk", "gtopk", "dgc"}) {
    const auto codec = compressor(name, options);
    CHECK(decoded(*codec, codec->encode(x), x.size()) == expected);
  }
  const auto codec = compressor("randk", options);
  const EncodedPayload first = codec->encode(x), second = codec->encode(x);
  CHECK(first != second);
  const Floats y = decoded(*codec, first, x.size());
  CHECK(std::count(y.begin(), y.end(), 0.0f) == 950);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK((y[i] == 0 || y[i] == x[i]));
}

TEST_CASE("the same seed gives the same bytes, another seed or worker others") {
  const Floats x = normals(1000, 1);
  for (const char* name : {"randk", "qsgd"}) {
    const CompressorKind& kind = find_compressor(name, {"test", ""});
    const auto bytes = [&](std::uint64_t seed, std::uint64_t worker) {
      return kind.make({.density = 0.1, .bits = 4, .seed = seed}, worker)->encode(x);
    };
    CHECK(bytes(5, 0) == bytes(5, 0));
    CHECK(bytes(5, 0) != bytes(6, 0));
    CHECK(bytes(5, 0) != bytes(5, 1));
  }
}

// Compared with the definition of binary16, computed in double: the nearest multiple of the spacing 2^(e−10), ties to
// the even multiple; below 2^-14 the spacing stays constant; beyond 65504 + 16 infinity.
TEST_CASE("fp16 rounds to the nearest half, ties to even, and overflows to infinity") {
  const auto nearest_half = [](float x) {
    if (std::abs(x) >= 65520) return std::copysign(infinity, x);
    const int exponent = std::max(-14, x == 0 ? -14 : std::ilogb(x));
    const double spacing = std::ldexp(1.0, exponent - 10);
    return static_cast<float>(std::nearbyint(x / spacing) * spacing);  // nearbyint: ties to even
  };
  Floats x{
      0,     1,        -1,       65504,        65519.99f,    65520,    -65520,   1e30f,    infinity,       -infinity,
      6e-8f, 2.98e-8f, 2.99e-8f, 1 + 0x1p-11f, 1 + 0x3p-11f, 0x1p-14f, 0x1p-15f, 0x1p-25f, 0x1.000002p-25f};
  for (int half = 0; half < 0x7c00; ++half) {  // every half of positive sign, and the middle to the next
    const int exponent = half >> 10, fraction = half & 0x3ff;
    const auto value =
        static_cast<float>(exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
    const auto spacing = static_cast<float>(std::ldexp(1.0, std::max(exponent, 1) - 25));
    for (const float y : {value, value + spacing / 2, std::nextafter(value + spacing / 2, infinity)}) {
      x.push_back(y);
      x.push_back(-y);
    }
  }
  const auto codec = compressor("fp16");
  const Floats y = decoded(*codec, codec->encode(x), x.size());
  int different = 0;
  for (std::size_t i = 0; i < x.size(); ++i) different += y[i] != nearest_half(x[i]);
  CHECK(different == 0);
  const Floats nan{NAN};
  CHECK(std::isnan(decoded(*codec, codec->encode(nan), 1)[0]));
}

TEST_CASE("qsgd gives one of the two nearest levels, and the element on average") {
  // Scale 6; 3 bits: s = 2^2 − 1 = 3 levels in addition to zero, with distance 2. ±6, 0 and −2 are levels; 3 lies half
  // way from 2 to 4; −5 is −6 half of the time and −4 the other half; 0.5 is 2 a quarter of the time and 0 otherwise.
  const Floats x{6, -6, 0, -2, 3, -5, 0.5f};
  const auto codec = compressor("qsgd", {.bits = 3});
  constexpr int times = 4000;
  std::vector<double> mean(x.size());
  for (int time = 0; time < times; ++time) {
    const Floats y = decoded(*codec, codec->encode(x), x.size());
    for (std::size_t i = 0; i < 4; ++i) REQUIRE(y[i] == x[i]);
    REQUIRE((y[4] == 2 || y[4] == 4));
    REQUIRE((y[5] == -6 || y[5] == -4));
    REQUIRE((y[6] == 0 || y[6] == 2));
    for (std::size_t i = 0; i < x.size(); ++i) mean[i] += double{y[i]} / times;
  }
  // Standard deviation of one: at most 1 (the distance of levels is 2); of the mean 1/√4000 = 0.016; five of them.
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(mean[i] - double{x[i]}) < 0.08);
}

TEST_CASE("qsgd with one bit is the sign, drawn so that the expectation is right") {
  const Floats x{4, -4, 2, 0};
  const auto codec = compressor("qsgd", {.bits = 1});
  std::vector<double> mean(x.size());
  for (int time = 0; time < 4000; ++time) {
    const Floats y = decoded(*codec, codec->encode(x), x.size());
    REQUIRE(y[0] == 4);
    REQUIRE(y[1] == -4);
    for (std::size_t i = 0; i < x.size(); ++i) {
      REQUIRE(std::abs(y[i]) == 4);
      mean[i] += double{y[i]} / 4000;
    }
  }
  CHECK(std::abs(mean[2] - 2) < 0.32);  // deviation of one at most 4, of the mean 0.063; five of them
  CHECK(std::abs(mean[3]) < 0.32);
}

// An element lies between two levels with distance scale/s: its error is less than that, for any random draw.
TEST_CASE("qsgd errs by less than the distance of its levels") {
  const Floats x = normals(5000, 4);
  float scale = 0;
  for (const float value : x) scale = std::max(scale, std::abs(value));
  for (std::int64_t bits = 1; bits <= 16; ++bits) {
    const auto codec = compressor("qsgd", {.bits = bits});
    const Floats y = decoded(*codec, codec->encode(x), x.size());
    const double apart = bits == 1 ? 2.0 * scale : scale / ((1 << (bits - 1)) - 1.0);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(double{x[i]} - double{y[i]}));
    CHECK(worst < apart * (1 + 1e-6));
    CHECK(worst > apart / 2);  // and does not simply round
  }
}

TEST_CASE("the sign codecs: zero counts as positive; the value of a sign") {
  // Nine elements, so that the last byte is not full. Mean magnitude 27/9 = 3; of those at least zero (5, 1, 0, 4, 2)
  // 12/5 = 2.4, of the others −15/4 = −3.75.
  const Floats x{5, -1, 1, -2, 0, -4, 4, -8, 2};
  const auto round_trip = [&](const std::string& name) {
    const auto codec = compressor(name);
    return decoded(*codec, codec->encode(x), x.size());
  };
  const auto with = [&](float below, float above) {
    Floats y;
    for (const float value : x) y.push_back(value < 0 ? below : above);
    return y;
  };
  CHECK(round_trip("signsgd") == with(-1, 1));
  CHECK(round_trip("ef-signsgd") == with(-3, 3));
  CHECK(round_trip("onebit") == with(-3.75f, 2.4f));
  CHECK(round_trip("signum") == with(-1, 1));
  CHECK(decoded(*compressor("signsgd"), EncodedPayload{std::byte{0b01010101}, std::byte{1}}, 9) ==
        Floats{1, -1, 1, -1, 1, -1, 1, -1, 1});
  // Only one sign: the other mean is over nothing.
  const Floats same{1, 2, 3};
  const auto onebit = compressor("onebit");
  CHECK(decoded(*onebit, onebit->encode(same), 3) == Floats{2, 2, 2});
}

// Momentum 0.9: after 1 the average is 0.1; after −0.5 it is 0.09 − 0.05 = 0.04, still positive; after another −0.5
// it is 0.036 − 0.05 < 0.
TEST_CASE("signum sends the sign of the running average") {
  const auto codec = compressor("signum");
  for (const auto& [gradient, expected] : {std::pair{1.0f, 1.0f}, {-0.5f, 1.0f}, {-0.5f, -1.0f}}) {
    const Floats x{gradient};
    CHECK(decoded(*codec, codec->encode(x), 1)[0] == expected);
  }
}

// With m = ‖x‖₁/n: ‖x − m·sign x‖² = ‖x‖² − 2m‖x‖₁ + n·m² = ‖x‖² − ‖x‖₁²/n, the least of any scale.
TEST_CASE("the scale of ef-signsgd minimises the error") {
  const Floats x = normals(1003, 9);
  const auto codec = compressor("ef-signsgd");
  Floats rest = decoded(*codec, codec->encode(x), x.size());
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    rest[i] = x[i] - rest[i];
    sum += std::abs(double{x[i]});
  }
  CHECK(norm(rest) * norm(rest) == Approx(norm(x) * norm(x) - sum * sum / 1003).epsilon(1e-5));
}

TEST_CASE("infinite and NaN values are visible in the result, and do not break anything") {
  const Floats x{1, NAN, -infinity, 2};
  for (const CompressorKind& kind : compressors()) {
    const auto codec = kind.make({.density = 1, .bits = 4}, 0);
    const Floats y = decoded(*codec, codec->encode(x), x.size());
    if (kind.name != "signsgd" && kind.name != "signum") CHECK(!std::isfinite(y[1]));
  }
  const Floats zeros(5);
  for (const CompressorKind& kind : compressors()) {
    const auto codec = kind.make({.density = 0.5, .bits = 4}, 0);
    const Floats y = decoded(*codec, codec->encode(zeros), zeros.size());
    if (kind.name != "signsgd" && kind.name != "signum") CHECK(y == zeros);
  }
}

TEST_CASE("a payload of another codec or length is refused") {
  for (const CompressorKind& kind : compressors()) {
    const auto codec = kind.make({.density = 0.5}, 0);
    const EncodedPayload payload = codec->encode(normals(64, 1));
    Floats out(640);
    CHECK_THROWS_AS(codec->decode(payload, out), std::logic_error);
  }
}

TEST_CASE("an unknown codec is named with the nearest one") {
  CHECK(error_place([] { find_compressor("tokp", {"command line", "--codec"}); }) == "command line: --codec");
}

// Whole numbers add up exactly in float: nothing may be missing, whatever the codec drops.
TEST_CASE("error feedback: decoded value and residual add up to the input") {
  for (const char* name : {"topk", "gtopk", "dgc", "randk", "ef-signsgd", "onebit"}) {
    constexpr std::size_t n = 300;
    const auto codec = compressor(name, {.density = 0.02});
    ErrorFeedback feedback(n);
    std::vector<double> in(n), out(n);
    for (std::uint64_t time = 0; time < 50; ++time) {
      const Floats gradient = whole_numbers(n, 100, time);
      const Floats y = decoded(*codec, feedback.encode(*codec, gradient), n);
      for (std::size_t i = 0; i < n; ++i) {
        in[i] += double{gradient[i]};
        out[i] += double{y[i]};
      }
    }
    const bool exact = std::string(name).find("k") != std::string::npos || std::string(name) == "dgc";
    for (std::size_t i = 0; i < n; ++i) {
      const double all = out[i] + double{feedback.residual()[i]};
      if (exact && name[0] != 'o')
        REQUIRE(all == in[i]);
      else
        REQUIRE(std::abs(all - in[i]) < 1e-2);  // means are not whole numbers: 50 roundings at magnitudes below 2^12
    }
  }
}

// m = 0.5, one element of two sent. Iteration 1, gradient (4, 2): u = v = (4, 2); 4 is sent; u = v = (0, 2).
// Iteration 2, gradient (1, 1): u = (1, 2), v = (1, 4); 4 is sent; u = v = (1, 0). Iteration 3, gradient (0, 0):
// u = (0.5, 0), v = (1.5, 0): 1.5 is sent.
TEST_CASE("momentum correction and factor masking of Deep Gradient Compression") {
  const auto codec = compressor("dgc", {.density = 0.5});
  ErrorFeedback feedback(2, 0.5f);
  const auto step = [&](const Floats& gradient) { return decoded(*codec, feedback.encode(*codec, gradient), 2); };
  CHECK(step({4, 2}) == Floats{4, 0});
  CHECK(step({1, 1}) == Floats{0, 4});
  CHECK(step({0, 0}) == Floats{1.5f, 0});
}
