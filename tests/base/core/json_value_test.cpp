#include "sim/base/core/json_value.hpp"

#include <cstdint>
#include <limits>

#include "tests/catch.hpp"

using namespace allreplay;

TEST_CASE("values are written as JSON") {
  CHECK(json_text(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(json_text(0.1) == "0.1");  // the shortest that reads back
  CHECK(json_text(3.0) == "3.0");  // still no whole number when read back
  CHECK(json_text(1e22) == "1e+22");
  CHECK(json_text(std::numeric_limits<double>::infinity()) == "null");  // JSON has no such number
  CHECK(json_text("cut \xc3") == "\"cut \ufffd\"");
  CHECK(json_text(std::optional<int>()) == "null");
  CHECK(json_text({{"a", std::optional(1.5)}}) == R"({"a":1.5})");
}

TEST_CASE("members keep the order in which they were filled") {
  JsonValue json{{"z", 1}, {"a", {1, {{"b", "c"}}}}};
  json["z"] = 2;  // stays where it stood
  json.update({{"y", JsonValue::array()}, {"z", 3}});
  CHECK(json_text(json) == R"({"z":3,"a":[1,{"b":"c"}],"y":[]})");
  CHECK(json_text(json["a"], 2) == "[\n  1,\n  {\n    \"b\": \"c\"\n  }\n]");
  CHECK(json_text(JsonValue::parse(R"({"b":[null,-2],"a":{}})")) == R"({"b":[null,-2],"a":{}})");
}
