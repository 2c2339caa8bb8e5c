#include "sim/output/picture/figure.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/output/picture/style.hpp"

namespace allreplay {

namespace {

constexpr double between_panels = 16, panel_title_size = 11.5, panel_title_height = 16;

// The panels next to each other.
double columns_of(const Figure& figure) { return static_cast<double>(std::min(figure.columns, figure.panels.size())); }

// The room that a legend on the right takes: at most a part of the picture, if its width is given.
double width_of_legend(const Figure& figure) {
  if (figure.legend_place != LegendPlace::Right || figure.legend.empty()) return 0;
  constexpr double most = 320, most_of_picture = 0.35;
  const double room = figure.width ? most_of_picture * *figure.width / figure.zoom : most;
  return between_panels + std::min(width_of_legend(figure.legend, figure.font), room);
}

// Draws a row of panels, whose charts begin at one height; returns the y at which it ends.
double add_row(Drawing& drawing, double top, const Figure& figure, std::size_t first) {
  const double width = panel_width_of(figure);
  const auto title_lines = [&](const FigurePanel& panel) {
    return wrapped(panel.title, panel_title_size, width, true, figure.font);
  };
  const std::size_t end = std::min(first + figure.columns, figure.panels.size());
  std::size_t lines = 0;
  for (std::size_t i = first; i < end; ++i) lines = std::max(lines, title_lines(figure.panels[i]).size());
  const double charts = top + panel_title_height * static_cast<double>(lines);
  double bottom = charts;
  for (std::size_t i = first; i < end; ++i) {
    const double x = style::margin + (width + between_panels) * static_cast<double>(i - first);
    double y = top;
    for (const std::string& line : title_lines(figure.panels[i])) {
      drawing.add(Text{.at = {x, y + panel_title_size},
                       .text = line,
                       .size = panel_title_size,
                       .colour = style::ink,
                       .bold = true,
                       .kind = "panel"});
      y += panel_title_height;
    }
    bottom = std::max(bottom, figure.panels[i].add(drawing, {x, charts, width, 0}));
  }
  return bottom;
}

// Adds the entries whose names the legend does not have yet.
void add_to_legend(Figure& figure, const std::vector<LegendEntry>& entries) {
  for (const LegendEntry& entry : entries)
    if (std::ranges::find(figure.legend, entry.name, &LegendEntry::name) == figure.legend.end())
      figure.legend.push_back(entry);
}

}  // namespace

void add_panel(Figure& figure, const std::string& title, Chart chart) {
  add_to_legend(figure, legend_of(chart));
  figure.panels.push_back({title, [chart = std::move(chart)](Drawing& drawing, const Box& room) {
                             return add_chart(drawing, room, chart);
                           }});
}

void add_panel(Figure& figure, const std::string& title, RowChart chart) {
  add_to_legend(figure, legend_of(chart));
  figure.panels.push_back({title, [chart = std::move(chart)](Drawing& drawing, const Box& room) {
                             return add_row_chart(drawing, room, chart);
                           }});
}

double panel_width_of(const Figure& figure) {
  if (!figure.width) return figure.panel_width;
  const double room = *figure.width / figure.zoom - 2 * style::margin - width_of_legend(figure);
  return (room + between_panels) / columns_of(figure) - between_panels;
}

Drawing draw(const Figure& figure) {
  if (figure.panels.empty()) throw std::logic_error("a figure without panels");
  const double panels = columns_of(figure) * (panel_width_of(figure) + between_panels) - between_panels;
  Drawing drawing{.width = 2 * style::margin + panels + width_of_legend(figure),
                  .title = figure.title,
                  .font = figure.font,
                  .zoom = figure.zoom};
  double top = style::margin;
  const bool legend = !figure.legend.empty();
  double beside = 0;  // the end of a legend on the right
  if (legend && figure.legend_place == LegendPlace::Top) top = add_legend(drawing, top - 4, figure.legend) + 8;
  if (legend && figure.legend_place == LegendPlace::Right)
    beside = add_legend_column(drawing, {style::margin + panels + between_panels, top + 14},
                               width_of_legend(figure) - between_panels, figure.legend);
  for (std::size_t first = 0; first < figure.panels.size(); first += figure.columns) {
    if (first > 0) top += 12;
    top = add_row(drawing, top, figure, first);
  }
  top = std::max(top, beside);
  if (legend && figure.legend_place == LegendPlace::Bottom) top = add_legend(drawing, top + 2, figure.legend);
  drawing.height = add_note(drawing, top + 6, figure.note) + style::margin - 4;
  return drawing;
}

}  // namespace allreplay
