#include "sim/report/table.hpp"

#include "tests/catch.hpp"

using namespace allreplay;

TEST_CASE("columns line up: words left, numbers right, characters counted rather than bytes") {
  CHECK(format_table({{"name", "time"}, {"α", "1 ms"}, {"beta", "12 ms"}}) ==
        "name   time\n"
        "-----------\n"
        "α      1 ms\n"
        "beta  12 ms\n");
}
