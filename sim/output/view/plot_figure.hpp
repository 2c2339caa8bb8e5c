// Turns a sweep's rows into the figure that "plot" in its configuration describes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/output/picture/figure.hpp"
#include "sim/output/view/plot_table.hpp"

namespace allreplay {

/// Throws InputError if the rows do not match the options.
Figure plot_figure(const ResultTable& table, PlotOptions options);

// Each draws one family of kinds.
Figure curves_figure(const PlotData& data);
Figure bars_figure(const PlotData& data);
Figure columns_figure(const PlotData& data);
Figure dots_figure(const PlotData& data);
Figure boxes_figure(const PlotData& data);
Figure histogram_figure(const PlotData& data);

/// Returns an empty figure with what all kinds share: the width of `panels` panels, and notes on rows that do not fit
/// into memory and on layer times that were not measured.
Figure figure_of(const PlotData& data, std::size_t panels, const std::string& title);

/// The look of each series by name: an index for series_look().
std::map<std::string, std::size_t> looks_of(const PlotData& data, const std::vector<PlotPanel>& panels);

/// The distinct values along x: in numeric order if all are numbers, otherwise in the order of the file.
struct PlotPlaces {
  std::vector<std::string> names;
  bool numbers = false;

  /// Returns the position on the axis: the number, or the index of the name.
  double at(const std::string& name) const;
};
PlotPlaces places_of(const PlotPanel& panel);

/// Returns an axis with a tick and a label at each place.
ChartAxis places_axis(const std::string& name, const PlotPlaces& places, Spacing spacing);

/// Returns the spacing of the axis of `y`: as asked for, else `usual` if the values are spread so `wide` that it helps,
/// else linear. `least`: the least value. Throws InputError if the axis was asked for and cannot show the values.
Spacing spacing_of_y(const PlotData& data, bool wide, Spacing usual, double least);

/// Sets the ends of an axis that were given.
void limit(ChartAxis& axis, const PlotLimits& limits);

}  // namespace allreplay
