#include "tests/catch.hpp"

#include "sim/studies/calibration/least_squares.hpp"

using namespace allreplay;

TEST_CASE("a pattern search finds the least of a curved valley") {
  // Rosenbrock's: 0 at (1, 1), along the valley y = x².
  const auto valley = [](const std::vector<double>& at) {
    const double across = at[1] - at[0] * at[0], along = 1 - at[0];
    return 100 * across * across + along * along;
  };
  const std::vector<double> found = pattern_search(valley, {-1.2, 1}, {true, true});
  CHECK(found[0] == Approx(1).margin(1e-3));
  CHECK(found[1] == Approx(1).margin(2e-3));
}

TEST_CASE("fixed parameters stay, and the bound holds") {
  const auto falling = [](const std::vector<double>& at) { return -at[0] - at[1]; };
  const std::vector<double> found =
      pattern_search(falling, {0, 0}, {true, false}, {.first = 1, .last = 0.01, .bound = 5});
  CHECK(found[0] == Approx(5).margin(0.02));
  CHECK(found[1] == 0);
}
