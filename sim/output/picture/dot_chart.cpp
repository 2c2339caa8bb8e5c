#include "sim/output/picture/dot_chart.hpp"

#include <algorithm>
#include <limits>

#include "sim/output/picture/axes.hpp"
#include "sim/output/picture/end_names.hpp"
#include "sim/output/picture/series_look.hpp"
#include "sim/output/picture/style.hpp"

namespace allreplay {

double add_dot_chart(Drawing& drawing, const Box& room, const DotChart& chart) {
  constexpr double row_height = 17, inset = 8;
  double names = 0, least = std::numeric_limits<double>::infinity(), greatest = -least;
  for (const DotRow& row : chart.rows) {
    names = std::max(names, text_width(row.name, style::text_size));
    for (const ChartDot& dot : row.dots) {
      least = std::min(least, dot.value);
      greatest = std::max(greatest, dot.value);
    }
  }
  if (chart.reference) {
    least = std::min(least, *chart.reference);
    greatest = std::max(greatest, *chart.reference);
  }
  const double left = names + 8;
  const Box field{room.x + left, room.y, room.width - left - style::margin,
                  row_height * static_cast<double>(chart.rows.size()) + 4};
  const Scale scale = scale_with_room(chart.x, {least, greatest}, field.width);
  const double bottom = add_axis_below(drawing, field, chart.x, scale, inset);
  const auto x_of = [&](double value) { return field.x + inset + (field.width - 2 * inset) * scale.share(value); };
  if (chart.reference)
    drawing.add(Path{.points = {{x_of(*chart.reference), field.y}, {x_of(*chart.reference), field.bottom()}},
                     .look = reference_look(),
                     .meaning = {"reference", ""}});
  for (std::size_t i = 0; i < chart.rows.size(); ++i) {
    const DotRow& row = chart.rows[i];
    const double y = field.y + 2 + row_height * (static_cast<double>(i) + 0.5);
    const std::size_t first = drawing.shapes.size();
    drawing.add(Path{.points = {{field.x, y}, {field.right(), y}}, .look = {.line = style::grid, .width = 0.5}});
    drawing.add(
        Text{.at = {field.x - 8, y + 4}, .text = row.name, .align = Align::End, .colour = style::ink, .kind = "row"});
    for (const ChartDot& dot : row.dots) {
      add_marker(drawing, series_look(dot.style), {x_of(dot.value), y}, {"point", dot.title});
      if (dot.crossed) add_cross(drawing, {x_of(dot.value), y});
    }
    drawing.mark_series(row.name, first);
  }
  return bottom;
}

}  // namespace allreplay
