#include "tests/catch.hpp"

#include "sim/output/picture/drawing.hpp"

using namespace allreplay;

TEST_CASE("invalid characters are replaced, all others stay") {
  CHECK(displayable("conv1 α … 𝛼") == "conv1 α … 𝛼");
  CHECK(displayable("a\nb\x01") == "a\uFFFDb\uFFFD");
  CHECK(displayable("\xFFx") == "\uFFFDx");
  CHECK(displayable("\xC0\x80") == "\uFFFD\uFFFD");            // an overlong form
  CHECK(displayable("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");  // half of a surrogate pair
  CHECK(displayable("caf\xC3") == "caf\uFFFD");                // cut in a character
}

TEST_CASE("text is measured in proportion to its size") {
  const double width = text_width("backward", 10);
  CHECK(text_width("backward", 20) == Approx(2 * width));
  CHECK(text_width("backward", 10, true) > width);
  CHECK(text_width("", 10) == 0);
}

TEST_CASE("a label is cut to its room") {
  const std::string name = "layer4.2.conv3.weight";
  CHECK(fitted(name, 10, 1000) == name);
  CHECK(fitted(name, 10, 1) == "");
  const std::string cut = fitted(name, 10, 60);
  CHECK(cut.substr(cut.size() - 3) == "…");
  CHECK(name.find(cut.substr(0, cut.size() - 3)) == 0);
  CHECK(text_width(cut, 10) <= 60);
  CHECK(text_width(name.substr(0, cut.size() - 2) + "…", 10) > 60);  // not one letter more
  CHECK(fitted("ααααααααααααα", 10, 40).find("\uFFFD") == std::string::npos);
}

TEST_CASE("long text is broken at spaces") {
  const auto lines = wrapped("one two three four five six", 10, text_width("one two three", 10));
  CHECK(lines == std::vector<std::string>{"one two three", "four five six"});
  CHECK(wrapped("a resnet50", 10, text_width("resnet", 10)) == std::vector<std::string>{"a", "resnet", "50"});
  CHECK(wrapped("x", 10, 1) == std::vector<std::string>{"x"});  // no room for any letter
  CHECK(wrapped("", 10, 100).empty());
}
