#include "sim/output/report/validation_report.hpp"

#include "tests/catch.hpp"

using namespace allreplay;

TEST_CASE("the contests of all settings are summed: pairs, winners, the mean and the worst regret") {
  Validation validation;
  Contest right, wrong;
  right.pairs = 3;
  right.right = 2.5;  // one pair is predicted equal
  right.winner_is_right = true;
  wrong.pairs = 1;
  wrong.regret = 0.2;
  validation.settings = {{{0, 1, 2}, right}, {{3, 4}, wrong}};
  const ContestSums sums = sums_of(validation);
  CHECK(sums.settings == 2);
  CHECK(sums.pairs == 4);
  CHECK(sums.right == 2.5);
  CHECK(sums.winners == 1);
  CHECK(sums.mean_regret == Approx(0.1));  // (0 + 0.2)/2
  CHECK(sums.worst_regret == 0.2);
}
