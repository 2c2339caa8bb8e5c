#include "sim/base/core/csv.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

using namespace allreplay;
using Fields = std::vector<std::string>;

TEST_CASE("rows, quotes, line ends") {
  const auto rows = parse_csv("a,b\r\n\n\"x,\"\"y\"\"\nz\",2\nlast,", "f");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].fields == Fields{"a", "b"});
  CHECK(rows[1].fields == Fields{"x,\"y\"\nz", "2"});
  CHECK(rows[1].line == 3);
  CHECK(rows[2].fields == Fields{"last", ""});
  CHECK(rows[2].line == 5);
}

TEST_CASE("fields that need quotes get them, and are read back") {
  for (const std::string value : {"plain", "a,b", "say \"x\"", "two\nlines", ""}) {
    const auto rows = parse_csv("key," + csv_field(value) + "\n", "f");
    CHECK(rows.at(0).fields.at(1) == value);
  }
}

TEST_CASE("an open quote names its line") {
  CHECK(error_place([] { parse_csv("a\nb,\"c\nd", "f.csv"); }) == "f.csv: line 2");
}

TEST_CASE("a table that would fill the memory is refused") {
  std::string rows;
  for (int i = 0; i < 1'000'001; ++i) rows += "a\n";
  CHECK(error_place([&] { parse_csv(rows, "f.csv"); }) == "f.csv: line 1000002");
  CHECK(error_place([] { parse_csv(std::string(10'000'001, ','), "f.csv"); }) == "f.csv: line 1");
}
