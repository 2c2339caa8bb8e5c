#include "sim/output/view/plot_figure.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/output/picture/style.hpp"
#include "sim/output/report/notes.hpp"
#include "sim/output/view/strategy_looks.hpp"

namespace allreplay {

namespace {

// Returns the note that a model spread layer times; "" if they were measured, by us or in an imported trace.
std::string origin_note(const PlotData& data) {
  if (!data.table.has("origin") || !data.table.has("profile")) return "";
  std::set<std::string> names;
  for (const ResultLine* row : data.rows)
    if (is_inferred(data.table.text(*row, "origin")))
      names.insert(data.options.label(std::string(data.table.text(*row, "profile"))));
  return names.empty() ? "" : fmt::format("Layer times are inferred, not measured: {}.", fmt::join(names, ", "));
}

// Returns the note that some rows do not fit into memory. Except in histograms, each of them has a cross.
std::string note_of_large(const PlotData& data) {
  const auto large =
      std::count_if(data.rows.begin(), data.rows.end(), [](const ResultLine* row) { return !row->fits; });
  if (large == 0) return "";
  const bool counted = data.options.kinds.front() == PlotKind::Histogram;
  return counted ? fmt::format("{} of {} rows do not fit into a worker's memory.", large, data.rows.size())
                 : "×: does not fit into a worker's memory.";
}

// The name of a column in a note: its label, or what the registry says of it.
std::string words_of(const PlotOptions& options, const std::string& column) {
  const Column* known = find_column(column);
  if (!known || !known->axis.empty() || options.labels.contains(column)) return options.axis_name(column);
  return std::string(known->about.substr(0, known->about.find(';')));
}

// Returns the note on where bands or error bars end; "" without them.
std::string note_of_ends(const PlotOptions& options, std::string_view name, const std::vector<std::string>& columns) {
  if (columns.empty()) return "";
  if (columns.size() == 1) return fmt::format("{}: ± {}.", name, words_of(options, columns.front()));
  return fmt::format("{}: {} to {}.", name, words_of(options, columns.front()), words_of(options, columns.back()));
}

}  // namespace

Figure figure_of(const PlotData& data, std::size_t panels, const std::string& title) {
  Figure figure{.title = title};
  const std::string boxes = data.options.kinds.front() == PlotKind::Boxes
                                ? "Boxes: quartiles and median over seeds; lines: least to most."
                                : "";
  for (const std::string& note :
       {boxes, note_of_ends(data.options, "Bands", data.options.band),
        note_of_ends(data.options, "Error bars", data.options.error), note_of_large(data), origin_note(data)})
    if (!note.empty()) figure.note += (figure.note.empty() ? "" : " ") + note;
  if (panels == 1) figure.panel_width = 560;
  const PlotPage& page = data.options.page;
  constexpr double pixels_per_mm = 96 / 25.4, narrow_mm = 120, points_per_pixel = 0.75;
  if (page.width) figure.width = pixels_per_mm * *page.width;
  if (page.width && *page.width < narrow_mm) figure.columns = 1;
  if (page.across) figure.columns = *page.across;
  figure.font = page.font;
  figure.zoom = page.font_size / (points_per_pixel * style::text_size);
  figure.legend_place = page.legend;
  return figure;
}

std::map<std::string, std::size_t> looks_of(const PlotData& data, const std::vector<PlotPanel>& panels) {
  std::vector<std::string> names;  // in the order of the file
  for (const PlotPanel& panel : panels)
    for (const PlotSeries& series : panel.series)
      if (std::ranges::find(names, series.name) == names.end()) names.push_back(series.name);
  const std::vector<std::size_t> places =
      look_places(names, [&](const std::string& strategy) { return data.options.label(strategy); });
  std::map<std::string, std::size_t> looks;
  for (std::size_t i = 0; i < names.size(); ++i) looks[names[i]] = places[i];
  return looks;
}

double PlotPlaces::at(const std::string& name) const {
  if (numbers) return *as_number(name);
  return static_cast<double>(std::find(names.begin(), names.end(), name) - names.begin());
}

PlotPlaces places_of(const PlotPanel& panel) {
  PlotPlaces places;
  std::set<std::string> known;
  for (const PlotSeries& series : panel.series)
    for (const PlotPoint& point : series.points)
      if (known.insert(point.x).second) places.names.push_back(point.x);
  places.numbers =
      std::all_of(places.names.begin(), places.names.end(), [](const std::string& name) { return as_number(name); });
  if (places.numbers)
    std::stable_sort(places.names.begin(), places.names.end(),
                     [](const std::string& a, const std::string& b) { return *as_number(a) < *as_number(b); });
  return places;
}

ChartAxis places_axis(const std::string& name, const PlotPlaces& places, Spacing spacing) {
  ChartAxis axis{.name = name, .spacing = spacing};
  axis.names_all = !places.numbers;
  for (const std::string& place : places.names) axis.ticks.push_back(places.at(place));
  axis.label = [places](double at) {
    for (const std::string& place : places.names)
      if (places.at(place) == at) return place;
    return plain_number(at);
  };
  return axis;
}

namespace {

// Rejects what rows and bars cannot obey.
void require_axes_of(PlotKind kind, const PlotOptions& options, const SourceLocation& place) {
  if (std::ranges::find(plot_kinds(), kind, &PlotKindRow::value)->curves) return;
  if (options.x_limits.given())
    throw InputError(place, "only lines, speedup and efficiency have an axis of x", "no \"xlim\"");
  if (options.log.asked_x && options.log.x != Spacing::Linear)
    throw InputError(place, "only lines, speedup and efficiency have an axis of x", "no base of x");
  if (kind == PlotKind::Dots || kind == PlotKind::Boxes) return;
  if (options.log.asked_y && options.log.y != Spacing::Linear)
    throw InputError(place, "bars begin at 0, which no logarithmic axis shows", "kind lines or dots, or no base of y");
  if (kind != PlotKind::Histogram && options.y_limits.from.value_or(0) != 0)
    throw InputError(place, "bars begin at 0", "\"ylim\" without a first limit, or kind dots");
}

Figure figure_of_kind(const PlotData& data, PlotKind kind) {
  switch (kind) {
    case PlotKind::Bars:
      return bars_figure(data);
    case PlotKind::Columns:
      return columns_figure(data);
    case PlotKind::Boxes:
      return boxes_figure(data);
    case PlotKind::Dots:
      return dots_figure(data);
    case PlotKind::Histogram:
      return histogram_figure(data);
    default:
      return curves_figure(data);
  }
}

}  // namespace

Figure plot_figure(const ResultTable& table, PlotOptions options) {
  const PlotKind kind = options.kinds.front();
  if (options.x.empty()) options.x = "workers";
  require_axes_of(kind, options, {table.file, ""});
  const PlotData data = data_of(table, options);
  if (options.usual_series && kind != PlotKind::Histogram) tell_apart(data, options);
  Figure figure = figure_of_kind(data, kind);
  constexpr double least_width = 120;
  if (figure.width && panel_width_of(figure) < least_width)
    throw InputError({table.file, ""}, "the picture is too narrow for its panels",
                     "a larger \"width\", fewer panels \"across\", or the legend elsewhere");
  return figure;
}

Spacing spacing_of_y(const PlotData& data, bool wide, Spacing usual, double least) {
  const PlotLog& log = data.options.log;
  const bool asked = log.asked_y && log.y;
  const Spacing spacing = asked ? *log.y : wide ? log.y.value_or(usual) : Spacing::Linear;
  if (least > 0 && data.options.y_limits.from.value_or(1) > 0) return spacing;
  if (asked && spacing != Spacing::Linear)
    throw InputError({data.table.file, ""}, "a logarithmic axis of y shows no numbers up to 0",
                     "\"ylim\" above 0, or log=false");
  return Spacing::Linear;
}

void limit(ChartAxis& axis, const PlotLimits& limits) {
  if (limits.from) axis.from = limits.from;
  if (limits.to) axis.to = limits.to;
}

}  // namespace allreplay
