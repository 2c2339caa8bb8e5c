// A drawing is data: shapes on a page, later ones on top, which writers turn into files (picture_file.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace allreplay {

/// In pixels of 1/96 inch from the upper left corner; in a chart's data, in the units of its axes.
struct Position {
  double x = 0, y = 0;
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;

  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;

  bool operator==(const Colour&) const = default;
};

/// Converts 0xRRGGBB, as in web pages and palettes.
constexpr Colour colour(std::uint32_t rgb) {
  return {static_cast<std::uint8_t>(rgb >> 16), static_cast<std::uint8_t>(rgb >> 8), static_cast<std::uint8_t>(rgb)};
}

/// Returns the colour between two others: `share` of the way from the first to the second.
Colour mixed(Colour from, Colour to, double share);

/// Lines over a filled shape, so that it can be distinguished even in grey.
enum class Hatch : std::uint8_t { None, Rising, Falling, Crossed };

struct Look {
  std::optional<Colour> fill;
  Hatch hatch = Hatch::None;
  Colour hatch_colour;
  std::optional<Colour> line;
  double width = 1;            ///< of the line
  std::vector<double> dashes;  ///< on, off, …; a solid line if empty
  double opacity = 1;          ///< of the fill
};

/// The meaning of a shape: its class in an SVG file, and the text shown there when hovering over it.
struct Meaning {
  std::string kind;
  std::string title;
};

struct Rectangle {
  Box box;
  Look look;
  Meaning meaning;
};

struct Circle {
  Position centre;
  double radius = 1;
  Look look;
  Meaning meaning;
};

struct Path {
  std::vector<Position> points;
  bool closed = false;
  Look look;
  Meaning meaning;
};

enum class Align : std::uint8_t { Start, Middle, End };

struct Text {
  Position at;  ///< of its base line
  std::string text;
  double size = 11;
  Align align = Align::Start;
  Colour colour;
  bool bold = false, italic = false;
  bool upwards = false;  ///< turned by 90 degrees, to be read from bottom to top
  std::string kind;
};

using Shape = std::variant<Rectangle, Circle, Path, Text>;

/// The shapes [first, end) draw one series of a chart; a page highlights them together.
struct SeriesShapes {
  std::string name;
  std::size_t first = 0, end = 0;
};

/// The family of letters where a drawing names none.
inline constexpr std::string_view usual_font = "DejaVu Sans";

struct Drawing {
  double width = 0, height = 0;
  std::string title;                           ///< for readers who do not see the drawing
  std::string font = std::string(usual_font);  ///< the family of its letters
  double zoom = 1;                             ///< the size in files: pixels of 1/96 inch for each unit of the drawing
  std::vector<Shape> shapes;
  std::vector<SeriesShapes> series;  ///< in the order of the shapes; none overlaps another

  void add(Shape shape) { shapes.push_back(std::move(shape)); }

  /// Assigns the shapes from `first` to the last one added to a series.
  void mark_series(const std::string& name, std::size_t first) {
    if (first < shapes.size()) series.push_back({name, first, shapes.size()});
  }
};

/// The width of a text as drawn, in pixels, to about a tenth.
double text_width(std::string_view text, double size, bool bold = false, std::string_view font = usual_font);

/// `text` if it is at most `most` wide, else as much of its beginning as fits before "…"; "" if nothing fits.
std::string fitted(std::string_view text, double size, double most, bool bold = false,
                   std::string_view font = usual_font);

/// Breaks the text into lines no wider than `most`: at spaces and ends of lines, and inside words that are wider.
std::vector<std::string> wrapped(std::string_view text, double size, double most, bool bold = false,
                                 std::string_view font = usual_font);

/// The text as UTF-8 that every viewer accepts: invalid bytes become U+FFFD.
std::string displayable(std::string_view text);

}  // namespace allreplay
