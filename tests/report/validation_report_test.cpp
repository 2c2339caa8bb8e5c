#include "sim/report/validation_report.hpp"

#include <regex>

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

TEST_CASE("a line for each group, and one for all of them") {
  Validation validation;
  validation.measured.quantity = Quantity::CollectiveTime;
  validation.groups = {{.name = "small"}, {.name = "large"}};
  validation.groups[0].error.rows = 3;
  validation.groups[1].error.rows = 4;
  validation.groups[1].error.median = 0.125;
  validation.all = {.name = "all"};
  validation.all.error.rows = 7;
  const std::string text = validation_text(validation);
  INFO(text);
  CHECK(std::regex_search(text, std::regex("\n *small +3 ")));
  CHECK(std::regex_search(text, std::regex("\n *large +4 +12.5 ")));
  CHECK(std::regex_search(text, std::regex("\n *all +7 ")));
}
