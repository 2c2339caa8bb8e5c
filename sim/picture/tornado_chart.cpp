#include "sim/picture/tornado_chart.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/picture/axes.hpp"
#include "sim/picture/drawing_parts.hpp"
#include "sim/picture/style.hpp"

namespace allreplay {

namespace {

constexpr double thickness = 15, apart = 7;

// More in one colour, less in another that is lighter in grey.
Look look_of(bool more, bool pale) {
  const Colour fill = more ? style::blue : style::orange;
  if (!pale) return {.fill = fill};
  return {.fill = colour(0xFFFFFF), .hatch = Hatch::Rising, .hatch_colour = fill, .line = fill, .width = 0.8};
}

}  // namespace

Drawing draw(const TornadoChart& chart) {
  double least = 0, greatest = 0, names = 0, ends = 0;
  for (const TornadoBar& bar : chart.bars) {
    if (!std::isfinite(bar.value) || chart.value.spacing != Spacing::Linear)
      throw std::logic_error("a tornado chart with values that are not finite, or not on a linear axis");
    least = std::min(least, bar.value);
    greatest = std::max(greatest, bar.value);
    names = std::max(names, text_width(bar.name, style::text_size));
    ends = std::max(ends, text_width(bar.end, style::text_size));
  }
  constexpr double least_field = 320;
  const double left = style::margin + names + 8, right = ends + 8 + style::margin;
  Drawing drawing{.width = std::max(chart.width, left + least_field + right), .title = chart.title};
  std::vector<LegendEntry> legend{swatch("more", look_of(true, false))};
  if (least < 0) legend.push_back(swatch("less", look_of(false, false)));
  if (!chart.pale_name.empty()) legend.push_back(swatch(chart.pale_name, look_of(true, true)));
  double top = add_title(drawing, style::margin, chart.title);
  top = add_legend(drawing, top + 6, legend) + 8;
  const Box field{left, top, drawing.width - left - right,
                  (thickness + apart) * static_cast<double>(chart.bars.size()) + apart};
  const Scale scale = scale_with_room(chart.value, {least, greatest}, field.width);
  const double bottom = add_axis_below(drawing, field, chart.value, scale);
  const auto x_of = [&](double value) { return field.x + field.width * scale.share(value); };
  double y = top + apart;
  for (const TornadoBar& bar : chart.bars) {
    const double from = x_of(std::min(0.0, bar.value)), to = x_of(std::max(0.0, bar.value));
    const double middle = y + thickness / 2 + 4;
    drawing.add(
        Text{.at = {field.x - 8, middle}, .text = bar.name, .align = Align::End, .colour = style::ink, .kind = "bar"});
    if (to > from)
      drawing.add(Rectangle{{from, y, to - from, thickness},
                            look_of(bar.value > 0, bar.pale),
                            {"part", fmt::format("{}: {}", bar.name, chart.value.label(bar.value))}});
    drawing.add(Text{.at = {field.right() + 8, middle}, .text = bar.end, .colour = style::ink, .kind = "end"});
    y += thickness + apart;
  }
  drawing.add(
      Path{.points = {{x_of(0), field.y}, {x_of(0), field.bottom()}}, .look = {.line = style::ink, .width = 1.2}});
  drawing.height = add_note(drawing, bottom + 4, chart.note) + style::margin - 4;
  return drawing;
}

}  // namespace allreplay
