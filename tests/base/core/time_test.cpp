#include "sim/base/core/time.hpp"

#include <limits>

#include "tests/catch.hpp"

#include "sim/base/core/error.hpp"

using namespace allreplay;

TEST_CASE("seconds become the nearest picosecond") {
  CHECK(to_time(1.4e-12) == Time(1));
  CHECK(to_time(1.6e-12) == Time(2));
  CHECK(to_time(1) == Time(1'000'000'000'000));
  CHECK(scaled(Time(10), 1.26) == Time(13));
}

TEST_CASE("the clock ends with an error, not by wrapping round") {
  CHECK_THROWS_AS(to_time(1e7), TimeOverflow);  // 116 days
  CHECK_THROWS_AS(to_time(std::numeric_limits<double>::quiet_NaN()), TimeOverflow);
  CHECK_THROWS_AS(add(to_time(9e6), to_time(9e6)), TimeOverflow);
}
