#include "sim/studies/calibration/fit.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/studies/calibration/logs.hpp"

#include "sim/base/core/random.hpp"
#include "sim/plans/collective/comm_cost.hpp"

using namespace allreplay;
using namespace test_logs;

namespace {

std::vector<Measurement> measured(const std::vector<Bytes>& sizes, const Law& law) {
  std::vector<Measurement> points;
  for (const Bytes size : sizes) points.push_back({size, law(size)});
  return points;
}

Law line(double a, double b) {
  return [=](Bytes bytes) { return a + b * static_cast<double>(bytes); };
}

double relative(double value, double truth) { return std::abs(value - truth) / truth; }

}  // namespace

TEST_CASE("exact times give the exact line") {
  Random random(1, 0);
  for (int trial = 0; trial < 200; ++trial) {
    // 1 us to 10 ms, 1 ps/B to 100 ns/B: whatever networks there are.
    const double a = 1e-6 * std::pow(10, 4 * random.uniform()), b = 1e-12 * std::pow(10, 5 * random.uniform());
    // Sizes on both sides of a/b, so that both constants can be seen at all.
    const auto middle = static_cast<Bytes>(a / b) + 16;
    const LineFit fit = fit_line(measured(doublings(std::max<Bytes>(1, middle / 1000), middle * 1000), line(a, b)));
    CAPTURE(a, b);
    CHECK(relative(fit.a, a) < 1e-9);
    CHECK(relative(fit.b, b) < 1e-9);
    CHECK(fit.a_error < 1e-9 * a);
  }
}

TEST_CASE("a line comes out of noise and outliers within its standard error") {
  // Relative errors of the design: rows (1/f, M/f) with f = a + b·M, σ the noise. The least-squares covariance is σ²
  // (XᵀX)⁻¹; Huber's estimate needs 1/0.95 of that, and outliers in a share ε of the rows, all on one side, move each
  // row's error by at most 1.345·σ: a shift of at most ε/(1 − ε)·1.345·σ/0.82 of T, since 82 % of the rows lie within
  // 1.345 σ and pull back. T's shift moves a and b equally. Five standard deviations: 1 in 1.7 million.
  const double a = 50e-6, b = 1e-9;
  std::vector<Bytes> sizes;
  for (double size = 8; size < 256e6; size *= 1.1) sizes.push_back(static_cast<Bytes>(size));
  double s11 = 0, s12 = 0, s22 = 0;
  for (const Bytes size : sizes) {
    const double m = static_cast<double>(size), f = a + b * m;
    s11 += 1 / (f * f);
    s12 += m / (f * f);
    s22 += m * m / (f * f);
  }
  const double determinant = s11 * s22 - s12 * s12;
  std::uint64_t seed = 0;
  for (const double noise : {0.01, 0.05, 0.1})
    for (const double outliers : {0.0, 0.05}) {
      const double deviation_a = noise * std::sqrt(s22 / determinant / 0.95) / (1 - outliers);
      const double deviation_b = noise * std::sqrt(s11 / determinant / 0.95) / (1 - outliers);
      const double shift = outliers / (1 - outliers) * 1.345 * noise / 0.82;
      int covered = 0;
      constexpr int trials = 40;
      for (int trial = 0; trial < trials; ++trial) {
        Random random(++seed, 0);
        const LineFit fit = fit_line(measured(sizes, [&](Bytes bytes) {
          const double time = line(a, b)(bytes) * std::max(0.1, 1 + noise * random.normal());
          return random.uniform() < outliers ? time * (3 + 7 * random.uniform()) : time;
        }));
        CAPTURE(noise, outliers, seed);
        // The share of outliers itself varies: twice the mean is beyond three standard deviations of 182 draws.
        CHECK(std::abs(fit.a - a) < 5 * deviation_a + 2 * shift * a);
        CHECK(std::abs(fit.b - b) < 5 * deviation_b + 2 * shift * b);
        CHECK(fit.a_error == Approx(deviation_a).epsilon(0.5));  // the scale is a median of 182 errors
        covered += std::abs(fit.b - b) < 2 * fit.b_error + shift * b;
      }
      CHECK(covered >= 32);  // of 40, 95 % expected; fewer than 32 has a chance of 1 in 4,000
    }
}

TEST_CASE("relative errors: noise of mean zero does not bias the line") {
  // 500 logs of 10 % noise: the mean of 500 estimates of b has a standard error of (its deviation)/22.
  const std::vector<Bytes> sizes = doublings(8, 256 << 20);
  double sum = 0, deviation = 0;
  constexpr int trials = 500;
  for (int trial = 0; trial < trials; ++trial) {
    Random random(77, static_cast<std::uint64_t>(trial));
    const LineFit fit = fit_line(measured(
        sizes, [&](Bytes bytes) { return line(50e-6, 1e-9)(bytes) * std::max(0.1, 1 + 0.1 * random.normal()); }));
    sum += fit.b;
    deviation += std::pow(fit.b - 1e-9, 2);
  }
  const double standard_error = std::sqrt(deviation / trials / trials);
  CHECK(std::abs(sum / trials - 1e-9) < 4 * standard_error);
  CHECK(standard_error < 0.005e-9);  // so that this would see the 2 % that errors relative to t would cost
}

TEST_CASE("small sizes count: noise on large ones does not drown the start-up") {
  // 3 % of 256 MiB's 268 ms are 8 ms, 160 times a. Eight sizes below a/b measure a itself, to 3 %/√8.
  Random random(5, 0);
  const LineFit fit = fit_line(measured(
      doublings(8, 256 << 20), [&](Bytes bytes) { return line(50e-6, 1e-9)(bytes) * (1 + 0.03 * random.normal()); }));
  CHECK(relative(fit.a, 50e-6) < 5 * 0.03 / std::sqrt(8.0));
}

TEST_CASE("neither constant goes below zero") {
  const LineFit falling = fit_line(measured({1000, 2000, 4000}, line(10e-6, -1e-9)));
  CHECK(falling.b == 0);
  CHECK(falling.b_held);
  CHECK(falling.b_error == 0);
  CHECK(falling.a > 5e-6);
  const LineFit late = fit_line(measured({1000, 2000, 4000}, line(-0.5e-6, 1e-9)));
  CHECK(late.a == 0);
  CHECK(late.a_held);
  CHECK(late.a_error == 0);
  CHECK(late.b > 0.5e-9);
  CHECK(late.b < 1e-9);
}

TEST_CASE("exact tables: the pieces are the protocols") {
  // 20 us + 2 ns/B up to 64 KiB, then 300 us + 0.5 ns/B.
  const auto law = [](Bytes m) { return m <= 65536 ? line(20e-6, 2e-9)(m) : line(300e-6, 0.5e-9)(m); };
  const TableFit fit = fit_table(measured(doublings(8, 64 << 20), law));
  REQUIRE(fit.pieces.size() == 2);
  CHECK(fit.noise == 0.01);  // the least that it takes
  CHECK(fit.pieces[0].to == 65536);
  CHECK(fit.pieces[1].from == 131072);
  CHECK(relative(fit.pieces[0].a, 20e-6) < 1e-9);
  CHECK(relative(fit.pieces[0].b, 2e-9) < 1e-9);
  CHECK(relative(fit.pieces[1].a, 300e-6) < 1e-9);
  CHECK(relative(fit.pieces[1].b, 0.5e-9) < 1e-9);
  REQUIRE(fit.table.size() == 4);
  for (const CostPoint& point : fit.table) CHECK(relative(point.seconds, law(point.bytes)) < 1e-9);
}

TEST_CASE("one line is one piece, whatever the noise and the outliers") {
  for (const double noise : {0.0, 0.01, 0.05, 0.1}) {
    int cut = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      Random random(seed, 3);
      int count = 0;
      const auto points = measured(doublings(8, 256 << 20), [&](Bytes bytes) {
        const double time = line(50e-6, 1e-9)(bytes) * (1 + noise * random.normal());
        return ++count == 9 + static_cast<int>(seed % 8) ? 5 * time : time;  // one outlier, ever elsewhere
      });
      cut += fit_table(points).pieces.size() > 1;
    }
    // The noise is itself estimated, from 24 errors: in about one log of fifty the estimate is half of the true noise.
    CAPTURE(noise, cut);
    CHECK(cut <= (noise > 0.01 ? 4 : 0));
  }
}

TEST_CASE("tables never fall, and their sizes rise") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed, 4);
    std::vector<Measurement> points;
    for (int i = 0; i < 60; ++i)  // any times at all, sizes also twice
      points.push_back({static_cast<Bytes>(1 + random.below(1 << (2 + i % 20))), 1e-6 * (1 + 100 * random.uniform())});
    const TableFit fit = fit_table(points);
    REQUIRE(fit.table.size() == 2 * fit.pieces.size());
    for (std::size_t i = 1; i < fit.table.size(); ++i) {
      CHECK(fit.table[i].bytes > fit.table[i - 1].bytes);
      CHECK(fit.table[i].seconds >= fit.table[i - 1].seconds);
    }
    CHECK(fit.table[0].seconds > 0);
    for (const Piece& piece : fit.pieces) CHECK((fit.pieces.size() == 1 || piece.to >= 2 * piece.from));
  }
}

TEST_CASE("two protocols under noise: the table is far better than the line") {
  const auto law = [](Bytes m) { return m <= 8192 ? line(50e-6, 2.6e-9)(m) : line(900e-6, 2.3e-9)(m); };
  for (const double noise : {0.01, 0.05}) {
    Random random(9, 6);
    const auto points =
        measured(doublings(4, 16 << 20), [&](Bytes bytes) { return law(bytes) * (1 + noise * random.normal()); });
    const TableFit fit = fit_table(points);
    const CommCost table(fit.table);
    const LineFit single = fit_line(points);
    double by_table = 0, by_line = 0;
    for (const Measurement& point : points) {
      by_table += relative(to_seconds(table(point.bytes)), law(point.bytes));
      by_line += relative(single.a + single.b * static_cast<double>(point.bytes), law(point.bytes));
    }
    CAPTURE(noise, fit.noise, fit.pieces.size());
    CHECK(fit.pieces.size() == 2);
    // Each piece's mean error is below its noise; the line misses a factor of up to 18 over half of the sizes.
    CHECK(by_table / static_cast<double>(points.size()) < noise);
    CHECK(by_line > 10 * by_table);
  }
}
