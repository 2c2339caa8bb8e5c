// Workers that exchange compressed gradients over many iterations.
#include "sim/inputs/compression/exchange.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/inputs/compression/vectors.hpp"

using namespace allreplay;

namespace {

const CompressorKind& kind(const std::string& name) { return find_compressor(name, {"test", ""}); }

std::vector<Floats> gradients(std::size_t workers, std::size_t n, std::uint64_t seed) {
  std::vector<Floats> all;
  for (std::size_t g = 0; g < workers; ++g) all.push_back(whole_numbers(n, 100, 10'000 * seed + g));
  return all;
}

double norm(const std::vector<double>& x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  return std::sqrt(squares);
}

}  // namespace

TEST_CASE("bytes that a worker sends and receives") {
  CHECK(traffic(Aggregation::AllReduce, 4, 100) == 150);  // 2·3/4
  CHECK(traffic(Aggregation::AllGather, 4, 100) == 300);
  CHECK(traffic(Aggregation::GTopKTree, 8, 100) == 300);  // log₂8 = 3
  for (const auto how : {Aggregation::AllReduce, Aggregation::AllGather, Aggregation::GTopKTree})
    CHECK(traffic(how, 1, 100) == 0);
}

// All that came in has been applied or is still owed. P and the sums are whole numbers and P a power of two: the mean
// is exact.
TEST_CASE("mass is conserved by every sparse codec") {
  for (const char* name : {"topk", "gtopk", "dgc", "randk"})
    for (const std::size_t workers : {1, 2, 4, 16}) {
      constexpr std::size_t n = 200;
      Exchange exchange(kind(name), {.density = 0.03}, static_cast<std::int64_t>(workers), n);
      std::vector<double> in(n), applied(n);
      for (std::uint64_t time = 0; time < 30; ++time) {
        const std::vector<Floats> all = gradients(workers, n, time);
        const Floats mean = exchange.step(all);
        for (std::size_t i = 0; i < n; ++i) {
          for (const Floats& one : all) in[i] += double{one[i]};
          applied[i] += double{mean[i]} * static_cast<double>(workers);
        }
      }
      CHECK(exchange.payload_bytes() == 8 * 6);
      const std::vector<double> owed = exchange.owed();
      for (std::size_t i = 0; i < n; ++i) REQUIRE(in[i] == applied[i] + owed[i]);
      CHECK(norm(owed) > 0);
    }
}

TEST_CASE("Algorithm 4 as printed loses mass from four workers on, and only then") {
  for (const std::size_t workers : {2, 4, 16}) {
    constexpr std::size_t n = 200;
    Exchange exchange(kind("gtopk"), {.density = 0.05}, static_cast<std::int64_t>(workers), n, Residuals::AsPrinted);
    std::vector<double> missing(n);
    for (std::uint64_t time = 0; time < 30; ++time) {
      const std::vector<Floats> all = gradients(workers, n, time);
      const Floats mean = exchange.step(all);
      for (std::size_t i = 0; i < n; ++i) {
        for (const Floats& one : all) missing[i] += double{one[i]};
        missing[i] -= double{mean[i]} * static_cast<double>(workers);
      }
    }
    const std::vector<double> owed = exchange.owed();
    for (std::size_t i = 0; i < n; ++i) missing[i] -= owed[i];
    CHECK((norm(missing) > 0) == (workers > 2));
  }
}

TEST_CASE("without loss the mean is the mean: density 1, and halves of small whole numbers") {
  const std::vector<Floats> all = gradients(8, 50, 1);
  Floats mean(50);
  for (const Floats& one : all)
    for (std::size_t i = 0; i < 50; ++i) mean[i] += one[i] / 8;
  for (const char* name : {"topk", "gtopk", "dgc", "randk", "fp16"})
    CHECK(Exchange(kind(name), {.density = 1}, 8, 50).step(all) == mean);
}

TEST_CASE("an all-reduce in halves overflows on the way; signs and qsgd are averaged") {
  const std::vector<Floats> large{{60'000, 1}, {60'000, 2}};
  const Floats sum = Exchange(kind("fp16"), {}, 2, 2).step(large);
  CHECK(std::isinf(sum[0]));
  CHECK(sum[1] == 1.5f);
  // 2048 + 1 has no half: each addition rounds back to 2048 (ties to even).
  const std::vector<Floats> small{{2048}, {1}, {1}, {0}};
  CHECK(Exchange(kind("fp16"), {}, 4, 1).step(small)[0] == 512);
  const std::vector<Floats> signs{{5, -1}, {3, 1}, {-1, -1}, {2, -7}};
  CHECK(Exchange(kind("signsgd"), {}, 4, 2).step(signs) == Floats{0.5f, -0.5f});
  CHECK(Exchange(kind("qsgd"), {.bits = 1}, 1, 2).step(std::vector<Floats>{{4, -4}}) == Floats{4, -4});
}

namespace {

// Least squares: 8 workers with 40 equations each in 60 unknowns; every worker's gradient is of its own equations,
// which a solution of its own would satisfy, so that the gradients do not vanish where the sum of squares is least.
class LeastSquares {
 public:
  static constexpr std::size_t workers = 8, rows = 40, n = 60;

  LeastSquares() : equations_(workers), right_(workers) {
    for (std::size_t g = 0; g < workers; ++g) {
      const Floats solution = normals(n, 1 + g);
      for (std::size_t row = 0; row < rows; ++row) {
        equations_[g].push_back(normals(n, 100 + g * rows + row));
        right_[g].push_back(product(equations_[g].back(), solution));
      }
    }
  }

  // Returns the point that gradient descent ends at.
  Floats descend(const std::string& name, double density, Residuals residuals, int iterations) const {
    Exchange exchange(kind(name), {.density = density}, workers, n, residuals);
    Floats at(n);
    for (int time = 0; time < iterations; ++time) {
      std::vector<Floats> all(workers, Floats(n));
      for (std::size_t g = 0; g < workers; ++g)
        for (std::size_t row = 0; row < rows; ++row) {
          const float error = product(equations_[g][row], at) - right_[g][row];
          for (std::size_t i = 0; i < n; ++i) all[g][i] += equations_[g][row][i] * error / rows;
        }
      const Floats mean = exchange.step(all);
      for (std::size_t i = 0; i < n; ++i) at[i] -= 0.01f * mean[i];
    }
    return at;
  }

 private:
  static float product(const Floats& a, const Floats& b) {
    float sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  }

  std::vector<std::vector<Floats>> equations_;
  std::vector<Floats> right_;
};

double distance(const Floats& a, const Floats& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(double{a[i]} - double{b[i]}, 2);
  return std::sqrt(squares);
}

}  // namespace

// Measured, as a share of the way from the start to the optimum that is left after 1000 iterations at density 0.05:
// dense 0.01, topk 0.03, gtopk conserving 0.04, gtopk as printed 0.23 (0.26 after 2000: it does not get there). A
// residual of a dozen iterations' gradients is what a constant step leaves topk and the conserving variant with.
TEST_CASE("gTop-k comes to the least squares when it conserves, and stays away as printed") {
  const LeastSquares problem;
  const Floats least = problem.descend("topk", 1, Residuals::Conserving, 4000);
  const double start = distance(least, Floats(LeastSquares::n));
  const auto left = [&](const std::string& name, Residuals residuals) {
    return distance(problem.descend(name, 0.05, residuals, 1000), least) / start;
  };
  CHECK(left("fp16", Residuals::Conserving) < 0.02);
  CHECK(left("topk", Residuals::Conserving) < 0.06);
  CHECK(left("gtopk", Residuals::Conserving) < 0.06);
  CHECK(left("gtopk", Residuals::AsPrinted) > 0.15);
}
