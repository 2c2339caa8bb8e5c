#include "sim/base/core/named.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

using namespace allreplay;

namespace {

enum class Colour { Red, Green, Blue };
constexpr Word<Colour> colours[] = {{Colour::Red, "red"}, {Colour::Green, "green"}, {Colour::Blue, "blue"}};
const SourceLocation place{"command line", "--colour"};

}  // namespace

TEST_CASE("rows are found by name") {
  CHECK(find_by_name(colours, "green", place, "unknown colour '{}'").value == Colour::Green);
  CHECK(row_named(colours, "blue") == &colours[2]);
  CHECK(row_named(colours, "Blue") == nullptr);
  CHECK(error_place([] { find_by_name(colours, "grene", place, "unknown colour '{}'"); }) == "command line: --colour");
  CHECK(error_place([] { find_by_name(colours, "ultraviolet", place, "unknown colour '{}'"); }) ==
        "command line: --colour");
}

TEST_CASE("a short list of names is suggested completely") {
  CHECK(choose_by_name(colours, "red", place, "'{}' is no colour").value == Colour::Red);
  CHECK(error_place([] { choose_by_name(colours, "{}", place, "'{}' is no colour"); }) == "command line: --colour");
  CHECK(choices({}).empty());
  CHECK(choices({"a"}) == "a");
  CHECK(choices({"a", "b"}) == "a or b");
}

TEST_CASE("values have their words") {
  for (const auto& [colour, name] : colours) CHECK(name_of(colours, colour) == name);
  CHECK(names_of(colours) == std::vector<std::string>{"red", "green", "blue"});
}
