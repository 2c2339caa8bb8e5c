#include "sim/output/picture/picture_file.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/own_folder.hpp"

#include "sim/base/core/file.hpp"
#include "sim/output/picture/cairo.hpp"
#include "sim/output/picture/svg.hpp"

using namespace allreplay;

namespace picture_file_test {

namespace {

// One of each shape, and text that is markup and no characters.
Drawing example() {
  Drawing drawing{.width = 120, .height = 50.25, .title = "<A & B>"};
  drawing.add(
      Rectangle{{10, 5, 20.126, 10}, {.fill = colour(0x0072B2), .hatch = Hatch::Rising}, {"block", "a \"b\"\x01"}});
  drawing.add(Circle{{60, 20}, 4, {.fill = colour(0xFFFFFF), .line = colour(0xFF0000)}, {}});
  drawing.add(Path{{{1, 1}, {2, 3}}, false, {.line = colour(0), .width = 0.5, .dashes = {3, 1}}, {}});
  drawing.add(Text{.at = {60, 40}, .text = "x < y\xFF", .align = Align::Middle});
  return drawing;
}

std::size_t big_endian(const std::string& file, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) value = 256 * value + static_cast<unsigned char>(file[i]);
  return value;
}

}  // namespace

TEST_CASE("an SVG describes its drawing") {
  CHECK(
      to_svg(example()) ==
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"120\" height=\"50.25\" viewBox=\"0 0 120 50.25\" "
      "font-family=\"DejaVu Sans, Verdana, Geneva, sans-serif\" role=\"img\">\n"
      "<title>&lt;A &amp; B&gt;</title>\n"
      "<defs>\n"
      "<pattern id=\"rising-000000\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate(45)\"><path d=\"M0 0V5\" stroke=\"#000000\" stroke-width=\"2\"/></pattern>\n"
      "</defs>\n"
      "<rect class=\"page\" width=\"120\" height=\"50.25\" fill=\"#fff\"/>\n"
      "<rect x=\"10\" y=\"5\" width=\"20.13\" height=\"10\" class=\"block\" fill=\"#0072b2\">"
      "<title>a &quot;b&quot;\uFFFD</title></rect>\n"
      "<rect x=\"10\" y=\"5\" width=\"20.13\" height=\"10\" fill=\"url(#rising-000000)\" pointer-events=\"none\"/>\n"
      "<circle cx=\"60\" cy=\"20\" r=\"4\" fill=\"#ffffff\" stroke=\"#ff0000\" stroke-width=\"1\"/>\n"
      "<polyline points=\"1,1 2,3\" fill=\"none\" stroke=\"#000000\" stroke-width=\"0.5\" stroke-dasharray=\"3 1\"/>\n"
      "<text x=\"60\" y=\"40\" font-size=\"11\" text-anchor=\"middle\">x &lt; y\uFFFD</text>\n"
      "</svg>\n");
}

TEST_CASE("a PNG has two pixels for each, a PDF three points for four; the same drawing gives the same bytes") {
  const std::string png = to_png(example());
  CHECK(png.substr(1, 3) == "PNG");
  CHECK(big_endian(png, 16) == 240);
  CHECK(big_endian(png, 20) == 101);  // 100.5 and what is left of a pixel
  CHECK(to_png(example()) == png);
  const std::string pdf = to_pdf(example());
  CHECK(pdf.substr(0, 5) == "%PDF-");
  CHECK(pdf.find("/MediaBox [ 0 0 90 37.6875 ]") != std::string::npos);
  CHECK(pdf.find("CreationDate") == std::string::npos);
  CHECK(to_pdf(example()) == pdf);
}

TEST_CASE("lines of a hatch have their own colour") {
  const auto hatched = [](Colour ink) {
    Drawing drawing{.width = 60, .height = 60};
    drawing.add(Rectangle{{10, 10, 30, 30}, {.hatch = Hatch::Rising, .hatch_colour = ink}, {}});
    return to_png(drawing);
  };
  CHECK(hatched(colour(0xFF0000)) != hatched(colour(0x00FF00)));
}

TEST_CASE("a shape does not change those after it") {
  const Text word{.at = {30, 30}, .text = "word"};
  Drawing alone{.width = 60, .height = 60}, behind = alone;
  alone.add(word);
  for (const bool upwards : {false, true}) behind.add(Text{.at = {40, 10}, .text = "", .upwards = upwards});
  behind.add(Rectangle{{0, 0, 0, 0}, {.fill = colour(0), .hatch = Hatch::Rising}, {}});
  behind.add(word);
  CHECK(to_png(behind) == to_png(alone));
  const Rectangle hatched{{10, 10, 30, 30}, {.hatch = Hatch::Rising}, {}};
  alone.add(hatched);
  behind.add(Path{{{-20, -20}, {-10, -10}}, false, {.line = colour(0), .dashes = {3, 1}}, {}});  // off the page
  behind.add(hatched);
  CHECK(to_png(behind) == to_png(alone));
}

TEST_CASE("the format follows from the name") {
  const OwnFolder folder;
  for (const auto& [ending, start] : {std::pair(".svg", "<svg"), {".png", "\x89PNG"}, {".pdf", "%PDF"}}) {
    const std::string file = folder("picture") + ending;
    CHECK(is_picture(file));
    write_picture(Files(), file, example());
    CHECK(Files().read(file).substr(0, 4) == start);
  }
  CHECK(!is_picture("picture"));
  CHECK(error_place([] { require_picture("x.gif", {"command line", "--plot"}); }) == "command line: --plot");
  CHECK(error_place([] { write_picture(Files(), "/nowhere/x.svg", example()); }) == "/nowhere/x.svg");
}

}  // namespace picture_file_test
