#include "sim/report/collective_report.hpp"

#include "tests/catch.hpp"
#include "tests/error_message.hpp"

using namespace allreplay;

namespace {
const SourceLocation place{"command line", "--bytes"};
}

TEST_CASE("one size, or a range") {
  CHECK(parse_sizes("100 MB", place) == std::vector<Bytes>{100'000'000});
  CHECK(parse_sizes("8B:64B:x2", place) == std::vector<Bytes>{8, 16, 32, 64});
  CHECK(parse_sizes("1 KiB : 10 KiB:x4", place) == std::vector<Bytes>{1024, 4096});
  CHECK(parse_sizes("8B:1GiB:x2", place).size() == 28);
  CHECK(parse_sizes("1B:3B:x1.5", place) == std::vector<Bytes>{1, 2});
}

TEST_CASE("what is no size") {
  CHECK_THROWS_AS(parse_sizes("8B:1GiB", place), InputError);
  CHECK_THROWS_AS(parse_sizes("8B:1GiB:2", place), InputError);
  CHECK(error_message([] { parse_sizes("8B:1GiB:x", place); }).find("is no range of sizes") == std::string::npos);
  CHECK(error_message([] { parse_sizes("8B:1GiB:", place); }).find("is no range of sizes") != std::string::npos);
  // The range ends where its text does, whatever stands behind that.
  CHECK(error_message([] {
          parse_sizes(std::string_view("8B:1GiB:x2").substr(0, 8), place);
        }).find("is no range of sizes") != std::string::npos);
  CHECK_THROWS_AS(parse_sizes("1GiB:8B:x2", place), InputError);
  CHECK_THROWS_AS(parse_sizes("0B:8B:x2", place), InputError);
  CHECK_THROWS_AS(parse_sizes("8B:1GiB:x1", place), InputError);
  CHECK_THROWS_AS(parse_sizes("8B:1GiB:xb", place), InputError);
  CHECK_THROWS_AS(parse_sizes("ten", place), InputError);
}

// A ring among 4 at 1 GB/s without start-up moves 2·3/4 bytes per byte: 1.5 ms for 1 MB, algbw 2/3 GB/s, busbw the
// link's.
TEST_CASE("bandwidths as nccl-tests has them") {
  const CollectivePricing ring{
      Purpose::AllReduce, 4, [](Bytes bytes) { return to_time(1.5e-9 * static_cast<double>(bytes)); }, 24, {}};
  const auto rows = measure_collective(ring, {0, 1'000'000});
  CHECK(rows[0].algbw_GBps == 0);
  CHECK(rows[0].messages == 0);
  CHECK(rows[1].time_s == Approx(1.5e-3));
  CHECK(rows[1].algbw_GBps == Approx(2.0 / 3));
  CHECK(rows[1].busbw_GBps == Approx(1));
  CHECK(rows[1].messages == 24);
  CHECK(collective_json(rows).find("\"busbw_GBps\"") != std::string::npos);
  CHECK(bus_factor(Purpose::AllGather, 4) == 3);
  CHECK(bus_factor(Purpose::ReduceScatter, 4) == 0.75);
  CHECK(bus_factor(Purpose::Broadcast, 4) == 1);
}
