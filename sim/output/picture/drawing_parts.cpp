#include "sim/output/picture/drawing_parts.hpp"

#include <algorithm>

#include "sim/output/picture/style.hpp"

namespace allreplay {

namespace {

constexpr double line_height = 1.35;  // of the size of the text

double add_lines(Drawing& drawing, double top, const Text& like) {
  for (const std::string& line :
       wrapped(like.text, like.size, drawing.width - 2 * style::margin, like.bold, drawing.font)) {
    Text text = like;
    text.text = line;
    text.at = {style::margin, top + like.size};
    drawing.add(text);
    top += line_height * like.size;
  }
  return top;
}

constexpr double sample_width = 22, after_sample = 6, entry_height = 18, next_line = 13;  // of a legend's entry

double width_of_entry(const LegendEntry& entry, std::string_view font) {
  return sample_width + after_sample + text_width(entry.name, style::text_size, false, font);
}

// Draws the entry in a box of this width, its name in as many lines as it needs; returns the y of the next one.
double add_entry(Drawing& drawing, Position at, double width, const LegendEntry& entry) {
  entry.sample(drawing, {at.x, at.y + 3, sample_width, 11});
  const double left = sample_width + after_sample;
  std::vector<std::string> lines{entry.name};
  if (width_of_entry(entry, drawing.font) > width)
    lines = wrapped(entry.name, style::text_size, width - left, false, drawing.font);
  for (const std::string& line : lines) {
    drawing.add(Text{.at = {at.x + left, at.y + 12.5}, .text = line, .colour = style::ink, .kind = "legend"});
    at.y += next_line;
  }
  return at.y + entry_height - next_line;
}

// Cuts the segment from `a` to `b` off at the sides of the box (Liang and Barsky, 1984); false if nothing is left.
bool cut(Position& a, Position& b, const Box& box) {
  const Position step{b.x - a.x, b.y - a.y};
  double from = 0, to = 1;
  const auto keep = [&](double towards, double distance) {  // the side: towards * t <= distance
    if (towards == 0) return distance >= 0;
    const double at = distance / towards;
    towards < 0 ? from = std::max(from, at) : to = std::min(to, at);
    return from < to;
  };
  if (!keep(-step.x, a.x - box.x) || !keep(step.x, box.right() - a.x) || !keep(-step.y, a.y - box.y) ||
      !keep(step.y, box.bottom() - a.y))
    return false;
  const Position start = a;
  if (from > 0) a = {start.x + from * step.x, start.y + from * step.y};
  if (to < 1) b = {start.x + to * step.x, start.y + to * step.y};
  return true;
}

}  // namespace

std::vector<std::vector<Position>> clipped(const std::vector<Position>& line, const Box& box) {
  std::vector<std::vector<Position>> parts;
  bool joined = false;  // the last part ends at the start of the segment
  for (std::size_t i = 1; i < line.size(); ++i) {
    Position a = line[i - 1], b = line[i];
    if (!cut(a, b, box)) {
      joined = false;
      continue;
    }
    if (joined)
      parts.back().push_back(b);
    else
      parts.push_back({a, b});
    joined = b.x == line[i].x && b.y == line[i].y;
  }
  return parts;
}

std::vector<Position> clipped_area(std::vector<Position> corners, const Box& box) {
  // One side after another (Sutherland and Hodgman, 1974): the coordinate's sign times what it exceeds the side by.
  const auto cut_off = [&](double Position::*coordinate, double side, double sign) {
    std::vector<Position> kept;
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const Position &from = corners[i], &to = corners[(i + 1) % corners.size()];
      const double a = sign * (from.*coordinate - side), b = sign * (to.*coordinate - side);
      if (a <= 0) kept.push_back(from);
      if ((a < 0 && b > 0) || (a > 0 && b < 0)) {
        const double share = a / (a - b);
        kept.push_back({from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)});
      }
    }
    corners = std::move(kept);
  };
  cut_off(&Position::x, box.x, -1);
  cut_off(&Position::x, box.right(), 1);
  cut_off(&Position::y, box.y, -1);
  cut_off(&Position::y, box.bottom(), 1);
  return corners;
}

LegendEntry swatch(const std::string& name, const Look& look) {
  return {name, [look](Drawing& drawing, const Box& box) { drawing.add(Rectangle{box, look, {}}); }};
}

double add_title(Drawing& drawing, double top, const std::string& title) {
  return add_lines(drawing, top, {.text = title, .size = style::title_size, .colour = style::ink, .bold = true});
}

double add_text(Drawing& drawing, double top, const std::string& text) {
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    top = add_lines(drawing, top, {.text = text.substr(start, end - start), .colour = style::ink, .kind = "text"});
    start = end + 1;
  }
  return top;
}

double add_note(Drawing& drawing, double top, const std::string& note) {
  return add_lines(drawing, top, {.text = note, .size = style::small_size, .colour = style::faint_ink, .italic = true});
}

double add_legend(Drawing& drawing, double top, const std::vector<LegendEntry>& entries) {
  constexpr double between = 14;
  if (entries.empty()) return top;
  double x = style::margin, bottom = top;  // of the line
  const double right = drawing.width - style::margin;
  for (const LegendEntry& entry : entries) {
    const double width = width_of_entry(entry, drawing.font);
    if (x > style::margin && x + width > right) {
      x = style::margin;
      top = bottom;
    }
    bottom = std::max(bottom, add_entry(drawing, {x, top}, right - x, entry));
    x += width + between;
  }
  return bottom;
}

double width_of_legend(const std::vector<LegendEntry>& entries, std::string_view font) {
  double widest = 0;
  for (const LegendEntry& entry : entries) widest = std::max(widest, width_of_entry(entry, font));
  return widest;
}

double add_legend_column(Drawing& drawing, Position at, double width, const std::vector<LegendEntry>& entries) {
  for (const LegendEntry& entry : entries) at.y = add_entry(drawing, at, width, entry);
  return at.y;
}

}  // namespace allreplay
