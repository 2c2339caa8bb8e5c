#include "sim/output/picture/figure.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/output/picture/style.hpp"

namespace allreplay {

namespace {

constexpr double between_panels = 16, panel_title_size = 11.5, panel_title_height = 16;

std::vector<std::string> title_lines(const FigurePanel& panel, double width) {
  return wrapped(panel.title, panel_title_size, width, true);
}

// Draws a row of panels, whose charts begin at one height; returns the y at which it ends.
double add_row(Drawing& drawing, double top, const Figure& figure, std::size_t first) {
  const std::size_t end = std::min(first + figure.columns, figure.panels.size());
  std::size_t lines = 0;
  for (std::size_t i = first; i < end; ++i)
    lines = std::max(lines, title_lines(figure.panels[i], figure.panel_width).size());
  const double charts = top + panel_title_height * static_cast<double>(lines);
  double bottom = charts;
  for (std::size_t i = first; i < end; ++i) {
    const double x = style::margin + (figure.panel_width + between_panels) * static_cast<double>(i - first);
    double y = top;
    for (const std::string& line : title_lines(figure.panels[i], figure.panel_width)) {
      drawing.add(Text{.at = {x, y + panel_title_size},
                       .text = line,
                       .size = panel_title_size,
                       .colour = style::ink,
                       .bold = true,
                       .kind = "panel"});
      y += panel_title_height;
    }
    bottom = std::max(bottom, figure.panels[i].add(drawing, {x, charts, figure.panel_width, 0}));
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

Drawing draw(const Figure& figure) {
  if (figure.panels.empty()) throw std::logic_error("a figure without panels");
  const auto columns = static_cast<double>(std::min(figure.columns, figure.panels.size()));
  Drawing drawing{.width = 2 * style::margin + columns * (figure.panel_width + between_panels) - between_panels,
                  .title = figure.title};
  double top = style::margin;
  if (!figure.legend.empty()) top = add_legend(drawing, top - 4, figure.legend) + 8;
  for (std::size_t first = 0; first < figure.panels.size(); first += figure.columns) {
    if (first > 0) top += 12;
    top = add_row(drawing, top, figure, first);
  }
  drawing.height = add_note(drawing, top + 6, figure.note) + style::margin - 4;
  return drawing;
}

}  // namespace allreplay
