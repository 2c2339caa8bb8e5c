#include "sim/output/picture/bar_chart.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/output/picture/axes.hpp"
#include "sim/output/picture/drawing_parts.hpp"
#include "sim/output/picture/series_look.hpp"
#include "sim/output/picture/style.hpp"

namespace allreplay {

namespace {

constexpr double thickness = 17, gap = 8;

Look look_of(const BarChart& chart, std::size_t part) {
  if (chart.parts[part].look) return *chart.parts[part].look;
  return bar_look(series_look(part));
}

void require_whole(const BarChart& chart) {
  bool whole = chart.value.spacing == Spacing::Linear && (chart.ends.empty() || chart.ends.size() == chart.bars.size());
  for (const BarPart& part : chart.parts) {
    whole = whole && part.values.size() == chart.bars.size();
    for (const double value : part.values) whole = whole && std::isfinite(value);
  }
  if (!whole) throw std::logic_error("a bar chart with values that are missing, not finite, or not on a linear axis");
}

// The least and the greatest end of any bar, up to the axis's end.
std::pair<double, double> extent_of(const BarChart& chart) {
  double least = 0, greatest = chart.mark ? chart.mark->value : 0;
  for (std::size_t bar = 0; bar < chart.bars.size(); ++bar) {
    double end = 0;
    for (const BarPart& part : chart.parts) {
      end += part.values[bar];
      least = std::min(least, end);
      greatest = std::max(greatest, end);
    }
  }
  return {least, std::min(greatest, chart.value.to.value_or(greatest))};
}

// Draws two strokes across the end of a bar that is cut off.
void add_break(Drawing& drawing, double x, double y, double height) {
  for (const double shift : {-7.0, -3.0})
    drawing.add(Path{.points = {{x + shift - 2, y + height + 1}, {x + shift + 2, y - 1}},
                     .look = {.line = colour(0xFFFFFF), .width = 2},
                     .meaning = {"break", ""}});
}

double widest(const std::vector<std::string>& texts) {
  double widest = 0;
  for (const std::string& text : texts) widest = std::max(widest, text_width(text, style::text_size));
  return widest;
}

}  // namespace

Drawing draw(const BarChart& chart) {
  require_whole(chart);
  constexpr double least_field = 320;
  const double left = style::margin + widest(chart.bars) + 8;
  const double right = std::max(widest(chart.ends) + 8, style::margin) + style::margin;
  Drawing drawing{.width = std::max(chart.width, left + least_field + right), .title = chart.title};
  std::vector<LegendEntry> legend;
  for (std::size_t part = 0; part < chart.parts.size(); ++part)
    legend.push_back(swatch(chart.parts[part].name, look_of(chart, part)));
  const Look mark{.line = style::ink, .width = 1.6, .dashes = {5, 2.5}};
  if (chart.mark)
    legend.push_back({chart.mark->name, [mark](Drawing& on, const Box& box) {
                        const double x = box.x + box.width / 2;
                        on.add(Path{.points = {{x, box.y - 2}, {x, box.bottom() + 2}}, .look = mark});
                      }});
  double top = add_title(drawing, style::margin, chart.title);
  if (!chart.verdict.empty()) top = add_text(drawing, top + 4, chart.verdict);
  top = add_legend(drawing, top + 6, legend) + 8;

  const Box field{left, top, drawing.width - left - right,
                  (thickness + gap) * static_cast<double>(chart.bars.size()) + gap};
  const Scale scale = scale_with_room(chart.value, extent_of(chart), field.width);
  const double bottom = add_axis_below(drawing, field, chart.value, scale);
  const auto x_of = [&](double value) {
    return field.x + field.width * scale.share(std::min(value, chart.value.to.value_or(value)));
  };
  for (std::size_t bar = 0; bar < chart.bars.size(); ++bar) {
    const double y = top + gap + (thickness + gap) * static_cast<double>(bar), middle = y + thickness / 2 + 4;
    double end = 0;
    drawing.add(Text{.at = {field.x - 8, middle},
                     .text = chart.bars[bar],
                     .align = Align::End,
                     .colour = style::ink,
                     .kind = "bar"});
    for (std::size_t part = 0; part < chart.parts.size(); ++part) {
      const double value = chart.parts[part].values[bar], from = end;
      end = from + value;
      const bool seen = value != 0 && (!chart.value.to || from < *chart.value.to);
      if (seen)
        drawing.add(Rectangle{
            {x_of(std::min(from, end)), y, x_of(std::max(from, end)) - x_of(std::min(from, end)), thickness},
            look_of(chart, part),
            {"part", fmt::format("{}, {}: {}", chart.bars[bar], chart.parts[part].name, chart.value.label(value))}});
      if (seen && chart.value.to && end > *chart.value.to) add_break(drawing, field.right(), y, thickness);
    }
    if (!chart.ends.empty())
      drawing.add(
          Text{.at = {field.right() + 8, middle}, .text = chart.ends[bar], .colour = style::ink, .kind = "end"});
  }
  if (chart.mark) {
    const double x = x_of(chart.mark->value);
    drawing.add(
        Path{.points = {{x, field.y}, {x, field.bottom()}}, .look = mark, .meaning = {"mark", chart.mark->name}});
  }
  drawing.add(
      Path{.points = {{x_of(0), field.y}, {x_of(0), field.bottom()}}, .look = {.line = style::ink, .width = 0.8}});
  drawing.height = add_note(drawing, bottom + 4, chart.note) + style::margin - 4;
  return drawing;
}

}  // namespace allreplay
