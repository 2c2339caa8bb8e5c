#include "sim/base/core/json.hpp"

#include <cstdint>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

using namespace allreplay;

TEST_CASE("values know their place in the file") {
  const Json json = Json::parse(R"({"a": {"b": [1, "2 ms"]}})", "f.json");
  const Json item = json.at("a").at("b").items()[1];
  CHECK(item.place().path == "/a/b/1");
  CHECK(item.duration() == Approx(2e-3));
  CHECK(error_place([&] { item.number(); }) == "f.json: /a/b/1");
  CHECK(error_place([&] { json.at("c"); }) == "f.json");
  CHECK(error_place([&] { json.allow_only({"aa", "x"}); }) == "f.json: /a");
}

TEST_CASE("invalid JSON is reported in one line") {
  for (const std::string text : {"", "{", "{\"a\": 1", "[1,]", "{\"a\": NaN}", "{} {}", "{\"a\": 1e999}", "\xff\xfe"}) {
    CHECK(error_place([&] { Json::parse(text, "f.json"); }) == "f.json");
  }
  CHECK(error_place([] { Json::parse(R"({"a": 1, "a": 2})", "f.json"); }) == "f.json");
}

TEST_CASE("numbers are checked") {
  const Json json = Json::parse(R"({"n": 3, "x": 2.5, "big": 1e300})", "f");
  CHECK(json.at("n").integer(1, 5) == 3);
  for (const std::string key : {"x", "big"}) CHECK(error_place([&] { json.at(key).integer(1, 5); }) == "f: /" + key);
  CHECK(error_place([&] { json.at("n").duration(); }) == "f: /n");
}

TEST_CASE("whole numbers are read digit by digit") {
  const auto read = [](const std::string& text) {
    return Json::parse("[" + text + "]", "f").items()[0].integer(INT64_MIN, INT64_MAX);
  };
  // Doubles hold 53 bits: their distance is 2 from 2^53 on, and 1,024 just below 2^63.
  CHECK(read("9223372036854775807") == INT64_MAX);
  CHECK(read("-9223372036854775808") == INT64_MIN);
  CHECK(read("9007199254740993") == (std::int64_t{1} << 53) + 1);
  CHECK(read("-9007199254740993") == -(std::int64_t{1} << 53) - 1);
  CHECK(read("9223372036854774784") == INT64_MAX - 1023);
  // With a point or an exponent: what a double counts exactly.
  CHECK(read("1e6") == 1'000'000);
  CHECK(read("4.0") == 4);
  CHECK(read("9007199254740992.0") == std::int64_t{1} << 53);
  const auto complaint = [&](const std::string& text) { return error_place([&] { read(text); }); };
  for (const std::string text : {"9223372036854775808", "-9223372036854775809", "18446744073709551615", "1e19", "0.5"})
    CHECK(complaint(text) == "f: /0");
  CHECK(complaint("1e17") == "f: /0");
}

TEST_CASE("too deep nesting is reported before anything can overflow") {
  const auto nested = [](int levels) {
    return R"({"a": )" + std::string(static_cast<std::size_t>(levels - 1), '[') +
           std::string(static_cast<std::size_t>(levels - 1), ']') + "}";
  };
  CHECK_NOTHROW(Json::parse(nested(100), "f.json"));
  for (const int levels : {101, 100'000}) {
    CHECK(error_place([&] { Json::parse(nested(levels), "f.json"); }) == "f.json");
    std::string objects;
    for (int i = 0; i < levels; ++i) objects += R"({"a":)";
    CHECK(error_place([&] { Json::parse(objects, "f.json"); }) == "f.json");
  }
}

TEST_CASE("control characters in texts and keys are not printed") {
  for (const std::string bad : {R"(a\u001b[2J)", R"(\u009b2J)", R"(\u202e)", R"(\u0000)"}) {
    CHECK(error_place([&] { Json::parse(R"({"name": ")" + bad + R"("})", "f").at("name").text(); }) == "f: /name");
    CHECK(error_place([&] { Json::parse("{\"" + bad + "\": 1}", "f"); }) == "f");
  }
  CHECK(Json::parse(R"({"a": "two\nlines\t…"})", "f").at("a").text() == "two\nlines\t…");
}

TEST_CASE("a complaint stays short, whatever it quotes") {
  try {
    Json::parse("[\"" + std::string(100'000, 'x') + "\"]", "f").items()[0].duration();
    FAIL("is taken for a duration");
  } catch (const InputError& error) {
    CHECK(std::string_view(error.what()).size() < 2500);
  }
}
