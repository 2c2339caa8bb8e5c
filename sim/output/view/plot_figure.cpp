#include "sim/output/view/plot_figure.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/output/view/strategy_looks.hpp"

namespace allreplay {

namespace {

// Returns the note that layer times were not measured; "" if they were.
std::string origin_note(const PlotData& data) {
  if (!data.table.has("origin") || !data.table.has("profile")) return "";
  std::set<std::string> names;
  for (const ResultLine* row : data.rows)
    if (data.table.text(*row, "origin") != "measured")
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

}  // namespace

Figure figure_of(const PlotData& data, std::size_t panels, const std::string& title) {
  Figure figure{.title = title};
  for (const std::string& note : {note_of_large(data), origin_note(data)})
    if (!note.empty()) figure.note += (figure.note.empty() ? "" : " ") + note;
  if (panels == 1) figure.panel_width = 560;
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

ChartAxis places_axis(const std::string& name, const PlotPlaces& places, bool logarithmic) {
  ChartAxis axis{.name = name, .spacing = logarithmic ? Spacing::Log2 : Spacing::Linear};
  axis.names_all = !places.numbers;
  for (const std::string& place : places.names) axis.ticks.push_back(places.at(place));
  axis.label = [places](double at) {
    for (const std::string& place : places.names)
      if (places.at(place) == at) return place;
    return plain_number(at);
  };
  return axis;
}

Figure plot_figure(const ResultTable& table, PlotOptions options) {
  const PlotKind kind = options.kinds.front();
  if (options.x.empty()) options.x = "workers";
  const PlotData data = data_of(table, options);
  switch (kind) {
    case PlotKind::Bars:
      return bars_figure(data);
    case PlotKind::Columns:
      return columns_figure(data);
    case PlotKind::Dots:
      return dots_figure(data);
    case PlotKind::Histogram:
      return histogram_figure(data);
    default:
      return curves_figure(data);
  }
}

}  // namespace allreplay
