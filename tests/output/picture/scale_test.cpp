#include "sim/output/picture/scale.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace allreplay;

using Ticks = std::vector<double>;

TEST_CASE("a linear axis starts at zero and ends at a round number") {
  const Scale scale({}, 3, 37, 6);  // 37/5 gaps = 7.4, the next round step is 10
  CHECK(scale.ticks() == Ticks{0, 10, 20, 30, 40});
  CHECK(scale.share(0) == 0);
  CHECK(scale.share(40) == 1);
  CHECK(scale.share(10) == Approx(0.25));
  CHECK(Scale({}, 0, 40, 5).ticks() == Ticks{0, 10, 20, 30, 40});
  CHECK(Scale({}, 0, 40, 5).share(40) == 1);
  CHECK(Scale({}, 30, 37, 5).ticks() == Ticks{0, 10, 20, 30, 40});  // also where all numbers are far from it
  CHECK(Scale({}, -3, 5, 5).ticks() == Ticks{-4, -2, 0, 2, 4, 6});  // 8/4 gaps
  CHECK(Scale({}, 0, 0, 5).ticks().size() > 1);                     // nothing but zeros still has an axis
}

TEST_CASE("an axis may be given its ends") {
  const Scale scale({.from = 5, .to = 16}, 7, 8, 4);  // 11/3 gaps: steps of 5
  CHECK(scale.ticks() == Ticks{5, 10, 15});
  CHECK(scale.share(5) == 0);
  CHECK(scale.share(16) == 1);
}

TEST_CASE("logarithmic axes name powers, as many as there is room for") {
  CHECK(Scale({.spacing = Spacing::Log2}, 4, 100, 10).ticks() == Ticks{4, 8, 16, 32, 64, 128});
  CHECK(Scale({.spacing = Spacing::Log2}, 4, 100, 3).ticks() == Ticks{4, 16, 64});
  CHECK(Scale({.spacing = Spacing::Log10}, 0.02, 1500, 10).ticks() == Ticks{0.01, 0.1, 1, 10, 100, 1000, 10000});
  CHECK(Scale({.spacing = Spacing::Log10}, 3, 80, 10).ticks() == Ticks{2, 5, 10, 20, 50, 100});  // two decades
  const Scale scale({.spacing = Spacing::Log2}, 4, 64, 10);
  CHECK(scale.share(16) == Approx(0.5));
}

TEST_CASE("a logarithmic axis has at least three ticks where there is room") {
  CHECK(Scale({.spacing = Spacing::Log10}, 2.1, 4.9, 12).ticks() == Ticks{2, 2.5, 3, 3.5, 4, 4.5, 5});  // 3/12: 0.5
  CHECK(Scale({.spacing = Spacing::Log2}, 8, 8, 10).ticks() == Ticks{8, 10, 12, 14, 16});
  CHECK(Scale({.spacing = Spacing::Log2}, 17, 30, 3).ticks() == Ticks{16, 24, 32});
  CHECK(Scale({.spacing = Spacing::Log2}, 17, 30, 2).ticks() == Ticks{16, 32});
  // 2.8 decades show two powers of ten, 10 and 100
  CHECK(Scale({.spacing = Spacing::Log10, .from = 1.5, .to = 900}, 2, 800, 12).ticks() ==
        Ticks{2, 5, 10, 20, 50, 100, 200, 500});
}

TEST_CASE("a logarithmic axis between two powers has ticks at equal distances") {
  // only 1024 would be labelled; (2000 - 1024) / 5 is rounded up to 200
  const Scale scale({.spacing = Spacing::Log2, .to = 2000}, 1100, 1900, 5);
  CHECK(scale.ticks() == Ticks{1200, 1400, 1600, 1800, 2000});
  CHECK(scale.share(1024 * std::sqrt(2000.0 / 1024)) == Approx(0.5));
}

TEST_CASE("an axis refuses values that it cannot show") {
  CHECK_THROWS_AS(Scale({.spacing = Spacing::Log10}, 0, 1, 5), std::logic_error);
  CHECK_THROWS_AS(Scale({}, 0, 1.0 / 0.0, 5), std::logic_error);
}

TEST_CASE("numbers read as people write them") {
  CHECK(plain_number(0) == "0");
  CHECK(plain_number(0.25) == "0.25");
  CHECK(plain_number(40) == "40");
  CHECK(plain_number(1e9) == "1e9");
  CHECK(plain_number(2.5e-7) == "2.5e-7");
}
