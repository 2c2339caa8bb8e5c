#include "sim/output/picture/svg.hpp"

#include <cmath>

#include <fmt/format.h>

namespace allreplay {

namespace {

std::string shown(std::string_view text) { return escaped(displayable(text)); }

// Rounds to a hundredth of a pixel, without trailing zeros.
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string hex(Colour colour) { return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue); }

std::string pattern_name(Hatch hatch, Colour colour) {
  constexpr const char* names[] = {"none", "rising", "falling", "crossed"};
  return fmt::format("{}-{}", names[static_cast<int>(hatch)], hex(colour).substr(1));
}

class Writer {
 public:
  Writer(const Drawing& drawing, const std::string& ids) : drawing_(drawing), ids_(ids) {}

  std::string write() {
    auto series = drawing_.series.begin();
    for (std::size_t i = 0; i < drawing_.shapes.size(); ++i) {
      const bool marked = on_page() && series != drawing_.series.end();
      if (marked && series->first == i) body_ += fmt::format("<g data-series=\"{}\">\n", shown(series->name));
      std::visit([&](const auto& one) { write(one); }, drawing_.shapes[i]);
      if (!marked || series->end != i + 1) continue;
      body_ += "</g>\n";
      ++series;
    }
    const std::string width = number(drawing_.width), height = number(drawing_.height);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{6}\" height=\"{7}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"{8}\" role=\"img\"{5}>\n{2}{3}"
        "<rect class=\"page\" width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n{4}</svg>\n",
        width, height, on_page() ? "" : fmt::format("<title>{}</title>\n", shown(drawing_.title)),
        patterns_.empty() ? "" : "<defs>\n" + patterns_ + "</defs>\n", body_,
        on_page() ? fmt::format(" aria-label=\"{}\"", shown(drawing_.title)) : "",
        number(drawing_.zoom * drawing_.width), number(drawing_.zoom * drawing_.height), families());
  }

 private:
  bool on_page() const { return !ids_.empty(); }

  // The families that a viewer tries in turn.
  std::string families() const {
    const std::string others = "DejaVu Sans, Verdana, Geneva, sans-serif";
    return drawing_.font == usual_font ? others : shown(drawing_.font) + ", " + others;
  }

  void write(const Rectangle& one) {
    const std::string shape = fmt::format("rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", number(one.box.x),
                                          number(one.box.y), number(one.box.width), number(one.box.height));
    write(shape, "rect", one.look, one.meaning);
  }

  void write(const Circle& one) {
    const std::string shape = fmt::format("circle cx=\"{}\" cy=\"{}\" r=\"{}\"", number(one.centre.x),
                                          number(one.centre.y), number(one.radius));
    write(shape, "circle", one.look, one.meaning);
  }

  void write(const Path& one) {
    std::string points;
    for (const Position& point : one.points)
      points += fmt::format("{}{},{}", points.empty() ? "" : " ", number(point.x), number(point.y));
    const char* name = one.closed ? "polygon" : "polyline";
    write(fmt::format("{} points=\"{}\"", name, points), name, one.look, one.meaning);
  }

  void write(const Text& one) {
    const std::string place = fmt::format("x=\"{0}\" y=\"{1}\"", number(one.at.x), number(one.at.y));
    body_ += fmt::format("<text{} {} font-size=\"{}\"", class_of(one.kind), place, number(one.size));
    if (one.upwards) body_ += fmt::format(" transform=\"rotate(-90 {} {})\"", number(one.at.x), number(one.at.y));
    if (one.align != Align::Start)
      body_ += fmt::format(" text-anchor=\"{}\"", one.align == Align::Middle ? "middle" : "end");
    if (one.bold) body_ += " font-weight=\"bold\"";
    if (one.italic) body_ += " font-style=\"italic\"";
    if (one.colour != Colour{}) body_ += fmt::format(" fill=\"{}\"", hex(one.colour));
    body_ += fmt::format(">{}</text>\n", shown(one.text));
  }

  // A hatched shape is drawn twice: the pattern is over the fill.
  void write(const std::string& shape, const std::string& element, const Look& look, const Meaning& meaning) {
    std::string line = look.fill ? fmt::format(" fill=\"{}\"", hex(*look.fill)) : " fill=\"none\"";
    if (look.opacity != 1) line += fmt::format(" fill-opacity=\"{}\"", number(look.opacity));
    if (look.line) line += fmt::format(" stroke=\"{}\" stroke-width=\"{}\"", hex(*look.line), number(look.width));
    std::string dashes;
    for (const double dash : look.dashes) dashes += (dashes.empty() ? "" : " ") + number(dash);
    if (!dashes.empty()) line += fmt::format(" stroke-dasharray=\"{}\"", dashes);
    body_ += fmt::format("<{}{}{}", shape, class_of(meaning.kind), line);
    if (meaning.title.empty())
      body_ += "/>\n";
    else if (on_page())
      body_ += fmt::format(" data-says=\"{}\"/>\n", shown(meaning.title));
    else
      body_ += fmt::format("><title>{}</title></{}>\n", shown(meaning.title), element);
    if (look.hatch != Hatch::None)
      body_ += fmt::format("<{} fill=\"url(#{})\" pointer-events=\"none\"/>\n", shape, pattern(look));
  }

  static std::string class_of(const std::string& kind) {
    return kind.empty() ? "" : fmt::format(" class=\"{}\"", shown(kind));
  }

  std::string pattern(const Look& look) {
    const std::string name = ids_ + pattern_name(look.hatch, look.hatch_colour);
    if (patterns_.find("\"" + name + "\"") == std::string::npos) {
      const std::string across = look.hatch == Hatch::Crossed ? "M0 0H5M0 0V5" : "M0 0V5";
      const int turn = look.hatch == Hatch::Falling ? -45 : 45;
      patterns_ += fmt::format(
          "<pattern id=\"{}\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
          "patternTransform=\"rotate({})\"><path d=\"{}\" stroke=\"{}\" stroke-width=\"2\"/></pattern>\n",
          name, turn, across, hex(look.hatch_colour));
    }
    return name;
  }

  const Drawing& drawing_;
  const std::string& ids_;
  std::string body_, patterns_;
};

}  // namespace

std::string to_svg(const Drawing& drawing, const std::string& ids) { return Writer(drawing, ids).write(); }

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  return out;
}

}  // namespace allreplay
