#include "sim/base/core/json_value.hpp"

#include <cstdint>
#include <limits>
#include <stdexcept>

#include "tests/catch.hpp"

using namespace allreplay;

TEST_CASE("values are written as JSON") {
  CHECK(JsonValue().dump() == "null");
  CHECK(JsonValue(true).dump() == "true");
  CHECK(JsonValue(std::numeric_limits<std::int64_t>::min()).dump() == "-9223372036854775808");
  CHECK(JsonValue(std::numeric_limits<std::uint64_t>::max()).dump() == "18446744073709551615");
  CHECK(JsonValue(0.1).dump() == "0.1");  // the shortest that reads back
  CHECK(JsonValue(3.0).dump() == "3.0");  // still no whole number when read back
  CHECK(JsonValue(1e22).dump() == "1e+22");
  CHECK(JsonValue(std::numeric_limits<double>::infinity()).dump() == "null");  // JSON has no such number
  CHECK(JsonValue("a \"b\"\\\n\x01 \u00e4").dump() == R"("a \"b\"\\\n\u0001 )"
                                                      "\u00e4\"");
  CHECK(JsonValue("cut \xc3").dump() == "\"cut \ufffd\"");
}

TEST_CASE("lists of named values are objects, others arrays") {
  const JsonValue json{{"one", 1}, {"none", nullptr}, {"list", {1, "two", 2.5}}, {"inner", {{"a", "b"}}}};
  CHECK(json.dump() == R"({"one":1,"none":null,"list":[1,"two",2.5],"inner":{"a":"b"}})");
  CHECK(JsonValue(std::vector<std::string>{"x", "y"}).dump() == R"(["x","y"])");
  CHECK(JsonValue{{"x", 1}, {"y"}}.dump() == R"([["x",1],["y"]])");
}

TEST_CASE("values are filled in order") {
  JsonValue json;
  json["z"] = 1;
  json["a"].push_back({{"b", true}});
  json["a"].back()["c"] = JsonValue::array();
  json["z"] = 2;  // stays where it stood
  json.update({{"y", JsonValue::object()}, {"z", 3}});
  CHECK(json.dump() == R"({"z":3,"a":[{"b":true,"c":[]}],"y":{}})");
  CHECK(json["a"][0]["b"].dump() == "true");
  JsonValue copy = json["a"];
  copy.push_back("more");
  CHECK(copy.is_array());
  CHECK(json["a"].dump() == R"([{"b":true,"c":[]}])");
  CHECK_FALSE(json.is_array());
}

TEST_CASE("built values can be read") {
  const JsonValue json{
      {"whole", -3}, {"large", std::uint64_t{1} << 40}, {"half", 0.5}, {"text", "x"}, {"list", {1, 2}}};
  CHECK(json.at("whole").number() == -3);
  CHECK(json.at("large").number() == 1099511627776.0);
  CHECK(json.at("half").number() == 0.5);
  CHECK(json.at("text").text() == "x");
  CHECK(json.at("list").items().size() == 2);
  CHECK(json.contains("half"));
  CHECK_FALSE(json.contains("hal"));
  CHECK_THROWS_AS(json.at("hal"), std::logic_error);
}

TEST_CASE("indented, each item and member has its line") {
  const JsonValue json{{"a", {1, {{"b", "c"}}}}, {"none", JsonValue::array()}};
  CHECK(json.dump(2) == "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"c\"\n    }\n  ],\n  \"none\": []\n}");
}

TEST_CASE("values that were read are written unchanged") {
  for (const std::string text :
       {R"({"b":1,"a":[null,true,-2,18446744073709551615,0.5,"x\n"]})", "[]", "{}", "\"text\"", "1e+300"}) {
    CHECK(JsonValue::parse(text).dump() == text);
    CHECK(is_json(text));
  }
  CHECK_FALSE(is_json("[1,]"));
}
