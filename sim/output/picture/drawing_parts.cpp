#include "sim/output/picture/drawing_parts.hpp"

#include <algorithm>

#include "sim/output/picture/style.hpp"

namespace allreplay {

namespace {

constexpr double line_height = 1.35;  // of the size of the text

double add_lines(Drawing& drawing, double top, const Text& like) {
  for (const std::string& line : wrapped(like.text, like.size, drawing.width - 2 * style::margin, like.bold)) {
    Text text = like;
    text.text = line;
    text.at = {style::margin, top + like.size};
    drawing.add(text);
    top += line_height * like.size;
  }
  return top;
}

}  // namespace

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
  constexpr double sample = 22, gap = 6, between = 14, height = 18;
  if (entries.empty()) return top;
  double x = style::margin;
  for (const LegendEntry& entry : entries) {
    const double width = sample + gap + text_width(entry.name, style::text_size);
    if (x > style::margin && x + width > drawing.width - style::margin) {
      x = style::margin;
      top += height;
    }
    entry.sample(drawing, {x, top + 3, sample, 11});
    drawing.add(Text{.at = {x + sample + gap, top + 12.5}, .text = entry.name, .colour = style::ink, .kind = "legend"});
    x += width + between;
  }
  return top + height;
}

}  // namespace allreplay
