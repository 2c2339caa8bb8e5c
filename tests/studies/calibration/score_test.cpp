#include "tests/catch.hpp"

#include "sim/studies/calibration/validation.hpp"

using namespace allreplay;

TEST_CASE("a quantile lies between its neighbours in proportion") {
  CHECK(quantile({7}, 0.9) == 7);
  CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(quantile({4, 1, 3, 2}, 0.9) == Approx(3.7));  // at 0.9·3 = 2.7 behind the first of 1, 2, 3, 4
  CHECK(quantile({4, 1, 3, 2}, 1) == 4);
}

TEST_CASE("errors in brief: magnitudes, and which way they lean") {
  const ErrorSummary summary = summary_of({0.1, -0.2, 0.05});
  CHECK(summary.rows == 3);
  CHECK(summary.median == Approx(0.1));
  CHECK(summary.p90 == Approx(0.18));  // at 0.9·2 = 1.8 behind the first of 0.05, 0.1, 0.2
  CHECK(summary.worst == -0.2);
  CHECK(summary.bias == 0.05);  // the middle of -0.2, 0.05, 0.1
  CHECK(summary.too_fast == 2);
}

TEST_CASE("a contest gives the loss from following the prediction") {
  // Measured 3 > 2 > 1, predicted 2, 3, 1: of three pairs the first is the wrong way round, and the advised takes 3/2
  // of the winner's time.
  const Contest contest = contest_of({{3, 2}, {2, 3}, {1, 1}});
  CHECK(contest.pairs == 3);
  CHECK(contest.right == 2);
  CHECK(contest.winner == 0);
  CHECK(contest.advised == 1);
  CHECK_FALSE(contest.winner_is_right);
  CHECK(contest.regret == Approx(0.5));
}

TEST_CASE("a predicted tie counts as half right, and as advice for the slower one") {
  for (const auto& methods : {std::vector<Competitor>{{2, 5}, {1, 5}}, std::vector<Competitor>{{1, 5}, {2, 5}}}) {
    const Contest contest = contest_of(methods);
    CHECK(contest.right == 0.5);
    CHECK(contest.regret == 1);
  }
  // Measured equal, there is nothing to be right about.
  const Contest equal = contest_of({{2, 5}, {2, 4}});
  CHECK(equal.pairs == 0);
  CHECK(equal.winner_is_right);
  CHECK(equal.regret == 0);
}
