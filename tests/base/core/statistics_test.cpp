#include "sim/base/core/statistics.hpp"

#include <cmath>
#include <vector>

#include "tests/catch.hpp"

using namespace allreplay;

TEST_CASE("a sample is summarised") {
  // Mean 40/8 = 5; deviations -3, -1, -1, -1, 0, 0, 2, 4, squares 9+1+1+1+0+0+4+16 = 32: sd sqrt(32/7). Quantiles at
  // p·7: 1.75 between 4 and 4, 3.5 between 4 and 5, 5.25 between 5 and 7, 6.65 between 7 and 9. Tables of Student's t
  // have 2.364624 for 7 degrees of freedom and 0.975.
  const std::vector<double> values{9, 4, 2, 4, 5, 4, 7, 5};
  const Summary all = summary_of(values);
  CHECK(all.count == 8);
  CHECK(all.mean == 5);
  CHECK(*all.deviation == Approx(std::sqrt(32.0 / 7)).epsilon(1e-14));
  CHECK(*all.confidence == Approx(2.364624 * std::sqrt(32.0 / 7 / 8)).epsilon(1e-6));
  CHECK(all.least == 2);
  CHECK(all.p25 == 4);
  CHECK(all.median == 4.5);
  CHECK(all.p75 == Approx(5.5).epsilon(1e-14));
  CHECK(all.p95 == Approx(8.3).epsilon(1e-14));
  CHECK(all.most == 9);
  // For two values, sd |a - b|/√2; t of one degree of freedom is Cauchy's: tan(0.475 π) = 12.706.
  const Summary two = summary_of(std::vector<double>{1, 3});
  CHECK(*two.deviation == Approx(std::sqrt(2.0)));
  CHECK(*two.confidence == Approx(std::tan(0.475 * M_PI)));
}

TEST_CASE("one value has no deviation, and equal ones none but 0; their mean is not rounded") {
  const Summary one = summary_of(std::vector<double>{0.1});
  CHECK((one.mean == 0.1 && one.median == 0.1 && one.p95 == 0.1 && one.least == 0.1 && one.most == 0.1));
  CHECK((!one.deviation && !one.confidence));
  const Summary alike = summary_of(std::vector<double>(10, 0.1));
  CHECK((alike.mean == 0.1 && alike.p95 == 0.1 && *alike.deviation == 0 && *alike.confidence == 0));
}
