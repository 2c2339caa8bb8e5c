#include "sim/studies/calibration/least_squares.hpp"

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"

using namespace allreplay;

namespace {

using Numbers = std::vector<double>;

const std::vector<Numbers> from_one{{1, 1}};

}  // namespace

TEST_CASE("the bottom of a curved valley is found") {
  // Rosenbrock 1960: 100 (y - x²)² + (1 - x)², least at (1, 1); on the way there the valley bends.
  const auto valley = [](const Numbers& at) { return Numbers{10 * (at[1] - at[0] * at[0]), 1 - at[0]}; };
  const LeastSquares found = least_squares(valley, {{2.5, 0.2}});
  CHECK(found.at[0] == Approx(1).epsilon(1e-6));
  CHECK(found.at[1] == Approx(1).epsilon(1e-6));
  CHECK(found.squares < 1e-12);
}

TEST_CASE("numbers are bounded by 0, and leave the bound if that is better") {
  // x + y = 1 and x - y = 2: y would be -0.5. At y = 0 the least of (x - 1)² + (x - 2)² is at 1.5, and 2·0.5² is left.
  const auto lines = [](const Numbers& at) { return Numbers{at[0] + at[1] - 1, at[0] - at[1] - 2}; };
  for (const Numbers& start : {Numbers{1, 1}, Numbers{0, 3}, Numbers{10, 0.1}}) {
    const LeastSquares found = least_squares(lines, {start});
    CHECK(found.at[0] == Approx(1.5).epsilon(1e-6));
    CHECK(found.at[1] == 0);
    CHECK(found.squares == Approx(0.5));
  }
  const auto away = [](const Numbers& at) { return Numbers{at[0] - 2, at[1] - 3}; };
  CHECK(least_squares(away, {{0, 0}}).at[1] == Approx(3));
}

TEST_CASE("if one start point is flat, another one helps") {
  // Flat below 2 in x, as what hides behind something longer is; the answer is x = 3.
  const auto hidden = [](const Numbers& at) { return Numbers{std::max(at[0], 2.0) - 3, at[1] - 1}; };
  CHECK(least_squares(hidden, from_one).squares == Approx(1));
  const LeastSquares found = least_squares(hidden, {{1, 1}, {10, 1}});
  CHECK(found.at[0] == Approx(3));
}

TEST_CASE("directions that residuals do not determine") {
  // By doubling, x moves the residuals by 2·ln 2 at x = 2, far more than a noise of 0.01; y, the third, by nothing.
  const auto one = [](const Numbers& at) { return Numbers{at[0], at[0]}; };
  auto open = undetermined_shares([&](const Numbers& at) { return one({at[0]}); }, {2, 1}, 0.01);
  CHECK(open[0][0] == Approx(0).margin(1e-9));
  CHECK(open[1][1] == Approx(1));
  CHECK(open[0][1] == Approx(0).margin(1e-9));
  // Only the sum is determined: with x = y, one up by a part and the other down by it, the direction (1, -1)/√2, whose
  // projection is ½ on the diagonal and -½ off it.
  open = undetermined_shares(
      [](const Numbers& at) {
        return Numbers{at[0] + at[1], 2 * (at[0] + at[1])};
      },
      {1, 1}, 0.01);
  CHECK(open[0][0] == Approx(0.5).epsilon(1e-3));
  CHECK(open[0][1] == Approx(-0.5).epsilon(1e-3));
  // A difference of a millionth is distinguishable from the sum if the noise is smaller, and not if it is larger.
  const auto nearly = [](const Numbers& at) { return Numbers{at[0] + at[1], at[0] + (1 + 1e-6) * at[1]}; };
  CHECK(undetermined_shares(nearly, {1, 1}, 1e-8)[0][0] == Approx(0).margin(1e-9));
  CHECK(undetermined_shares(nearly, {1, 1}, 1e-5)[0][0] == Approx(0.5).epsilon(1e-3));
  // At the edge of the flat region smaller steps leave no trace, and so no number is reported as known.
  const auto edge = [](const Numbers& at) { return Numbers{std::max(at[0], 2.0)}; };
  CHECK(undetermined_shares(edge, {2}, 1e-3)[0][0] == Approx(1));
  // At its most a number can become no more: what less changes tells it.
  const auto ended = [](const Numbers& at) { return Numbers{std::min(at[0], 2.0)}; };
  CHECK(undetermined_shares(ended, {2}, 1e-3)[0][0] == Approx(1));
  CHECK(undetermined_shares(ended, {2}, 1e-3, {2})[0][0] == Approx(0).margin(1e-9));
}
