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
  std::vector<std::pair<std::string, std::string>> known;  // pairs of profile and origin
  for (const ResultLine* row : data.rows) {
    const std::pair pair(data.table.text(*row, "profile"), data.table.text(*row, "origin"));
    if (std::find(known.begin(), known.end(), pair) == known.end()) known.push_back(pair);
  }
  std::vector<std::string> notes;
  for (const auto& [origin, word] : {std::pair("reconstructed", "Reconstructed"), {"estimated", "Estimated"}}) {
    std::vector<std::string> names;
    for (const auto& [profile, of] : known)
      if (of == origin) names.push_back(data.options.label(profile));
    if (names.empty()) continue;
    const std::string which = names.size() == known.size() ? "" : fmt::format(" ({})", fmt::join(names, "; "));
    notes.push_back(fmt::format("{} profile{}{}: layer times are inferred, not measured.", word,
                                names.size() == 1 ? "" : "s", which));
  }
  return fmt::format("{}", fmt::join(notes, " "));
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

// Returns the column of the tuned option if a single one was tuned, otherwise "trial".
std::string tuned_column(const ResultTable& table) {
  const auto trial = std::find(table.columns.begin(), table.columns.end(), "trial");
  const auto time = std::find(table.columns.begin(), table.columns.end(), "iteration_s");
  return trial < time && time != table.columns.end() && time - trial == 2 ? *(trial + 1) : "trial";
}

}  // namespace

Figure figure_of(const PlotData& data, std::size_t panels, const std::string& title) {
  Figure figure{.title = title};
  for (const std::string& note : {note_of_large(data), origin_note(data)})
    if (!note.empty()) figure.note += (figure.note.empty() ? "" : " ") + note;
  if (panels == 1) figure.panel_width = 560;
  return figure;
}

void add_panel(Figure& figure, const std::string& title, Chart chart) {
  if (!chart.names_at_ends)
    for (const LegendEntry& entry : legend_of(chart))
      if (std::none_of(figure.legend.begin(), figure.legend.end(),
                       [&](const LegendEntry& known) { return known.name == entry.name; }))
        figure.legend.push_back(entry);
  figure.panels.push_back({title, [chart = std::move(chart)](Drawing& drawing, const Box& room) {
                             return add_chart(drawing, room, chart);
                           }});
}

PlotSeriesLooks::PlotSeriesLooks(const PlotData& data, const std::vector<PlotPanel>& panels) {
  std::set<std::string> known;
  for (const PlotPanel& panel : panels)
    for (const PlotSeries& series : panel.series)
      if (known.insert(series.name).second) names_.push_back(series.name);
  places_ = look_places(names_, [&](const std::string& strategy) { return data.options.label(strategy); });
}

std::size_t PlotSeriesLooks::place(const std::string& name) const {
  return places_[static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin())];
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
  if (options.x.empty()) options.x = kind == PlotKind::Trials ? tuned_column(table) : "workers";
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
    case PlotKind::Trials:
      return trials_figure(data);
    default:
      return curves_figure(data);
  }
}

}  // namespace allreplay
