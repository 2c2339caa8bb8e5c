// A codec at work: what is measured of it.
#include "sim/inputs/compression/codec_measurement.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/base/core/named.hpp"

using namespace allreplay;

namespace {

CodecRequest request(const std::string& codec, std::int64_t elements) {
  CodecRequest request;
  request.codec = &find_compressor(codec, {"test", ""});
  request.elements = elements;
  request.repetitions = 1;
  return request;
}

}  // namespace

// A normal x has the sign s and E|x| = √(2/π): ±1 for x errs by E(|x| − 1)² = 2 − 2√(2/π) = 0.404, the root is 0.636;
// ±E|x| by 1 − 2/π = 0.363, 0.603. Both have the direction cos = √(2/π) = 0.798. 100,000 elements: standard errors
// below 0.003.
TEST_CASE("errors of the sign codecs on normal gradients") {
  const RoundTrip sign = measure_codec(request("signsgd", 100'000)).round_trip;
  CHECK(sign.error == Approx(std::sqrt(2 - 2 * std::sqrt(2 / M_PI))).margin(0.01));
  CHECK(sign.cosine == Approx(std::sqrt(2 / M_PI)).margin(0.01));
  CHECK(sign.mean_error == Approx(sign.error));  // the same each time
  CHECK(!sign.mean_error_feedback);
  const RoundTrip scaled = measure_codec(request("ef-signsgd", 100'000)).round_trip;
  CHECK(scaled.error == Approx(std::sqrt(1 - 2 / M_PI)).margin(0.01));
  CHECK(scaled.cosine == Approx(sign.cosine));
  CHECK(scaled.mean_error == Approx(scaled.error));
  CHECK(*scaled.mean_error_feedback < scaled.error / 2);
}

// k of n elements of a permutation: ‖x − y‖²/‖x‖² is 1 − (the share of squares that is sent). Of Laplace elements with
// density p, the strongest are those beyond t = −ln p, and their squares ∫ x²e⁻ˣ from t = p(t² + 2t + 2), of 2 in all.
TEST_CASE("errors of the sparse codecs") {
  CodecRequest laplace = request("topk", 200'000);
  laplace.distribution = Distribution::Laplace;
  laplace.options.density = 0.1;
  const double t = std::log(10);
  const RoundTrip top = measure_codec(laplace).round_trip;
  CHECK(top.error == Approx(std::sqrt(1 - 0.1 * (t * t + 2 * t + 2) / 2)).margin(0.01));
  CHECK(top.cosine == Approx(std::sqrt(1 - top.error * top.error)));  // a projection
  CHECK(top.bytes == 160'000);
  laplace.codec = &find_compressor("randk", {"test", ""});
  CHECK(measure_codec(laplace).round_trip.error == Approx(std::sqrt(0.9)).margin(0.01));
  // An element is sent when it has waited long enough: after many iterations nearly all of all has been.
  laplace.codec = &find_compressor("topk", {"test", ""});
  laplace.elements = 1000;
  laplace.iterations = 500;
  CHECK(*measure_codec(laplace).round_trip.mean_error_feedback < 0.03);
}

// The mean of T unbiased draws errs by 1/√T of one.
TEST_CASE("qsgd has no bias, fp16 hardly an error") {
  CodecRequest qsgd = request("qsgd", 20'000);
  qsgd.options.bits = 4;
  qsgd.iterations = 100;
  const RoundTrip trip = measure_codec(qsgd).round_trip;
  CHECK(trip.mean_error == Approx(trip.error / 10).epsilon(0.05));
  const RoundTrip half = measure_codec(request("fp16", 20'000)).round_trip;
  CHECK(half.error < std::ldexp(1, -11));  // half a unit in the last of 11 places
  CHECK(half.error > std::ldexp(1, -14));
}

// Independent elements of variance 1: the mean of P has 1/P. Signs, ±1, of P workers: y = Σs/P, x = Σg/P; E(y − x)² =
// E(s − g)²/P: the error of one, relative to the mean of as small a variance: the same 0.636.
TEST_CASE("several workers: bytes, and the error against the true mean") {
  CodecRequest signs = request("signsgd", 50'000);
  signs.workers = 8;
  signs.iterations = 2;
  const Aggregated all = *measure_codec(signs).aggregated;
  CHECK(all.bytes == 7 * 50'000 / 8);
  CHECK(all.error == Approx(0.636).margin(0.02));
  CHECK(!all.lost);
  // The same gradient everywhere and always: the mean of one.
  signs.correlation = 1;
  CHECK(measure_codec(signs).aggregated->total_error == Approx(measure_codec(signs).round_trip.error).epsilon(0.02));
  signs.elements = 1;  // down to the only element: ±1 for 8 times the same x
  const CodecMeasurement one = measure_codec(signs);
  CHECK(one.aggregated->error == Approx(one.aggregated->total_error));
  CHECK(one.aggregated->error == Approx(one.round_trip.error));
  // New gradients each time, and one iteration: all of it is that one.
  signs.correlation = 0;
  signs.elements = 1000;
  signs.iterations = 1;
  const CodecMeasurement once = measure_codec(signs);
  CHECK(once.aggregated->total_error == Approx(once.aggregated->error));
}

// A signed exponential has E|x| = 1 and E x² = 2, so that (±1 − x)² has the mean 2 − 2 + 1, half of x's: the root of a
// half, for several workers as for one, since the mean of each is 0.
TEST_CASE("signs of Laplace's distribution are even") {
  CodecRequest signs = request("signsgd", 50'000);
  signs.distribution = Distribution::Laplace;
  signs.workers = 8;
  signs.iterations = 1;
  const CodecMeasurement measured = measure_codec(signs);
  CHECK(measured.round_trip.error == Approx(0.707).margin(0.02));
  CHECK(measured.aggregated->error == Approx(0.707).margin(0.02));
}

TEST_CASE("gTop-k as printed loses mass; the conserving variant loses only rounding errors") {
  CodecRequest gtopk = request("gtopk", 2000);
  gtopk.options.density = 0.01;
  gtopk.iterations = 20;
  for (const std::int64_t workers : {2, 8}) {
    gtopk.workers = workers;
    gtopk.residuals = Residuals::Conserving;
    const Aggregated conserving = *measure_codec(gtopk).aggregated;
    CHECK(conserving.bytes == (workers == 2 ? 1 : 3) * 8 * 20);
    CHECK(*conserving.lost < 1e-5);  // float: 2^-24 of each of 2000 residuals, compared with 20 applied ones
    gtopk.residuals = Residuals::AsPrinted;
    CHECK((*measure_codec(gtopk).aggregated->lost > 1e-3) == (workers > 2));
  }
}

TEST_CASE("a measurement is the same each time, but for the times") {
  const CodecRequest one = request("randk", 1000);
  CHECK(measure_codec(one).round_trip.error == measure_codec(one).round_trip.error);
  CodecRequest other = one;
  other.options.seed = 2;
  CHECK(measure_codec(other).round_trip.error != measure_codec(one).round_trip.error);
  CHECK(error_place([] {
          find_by_name(distributions, "norml", {"command line", "--distribution"}, "no distribution '{}'");
        }) == "command line: --distribution");
}
