// Turns a sweep's rows into the figure that "plot" in its configuration describes.
#pragma once

#include "sim/output/picture/chart.hpp"
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
Figure histogram_figure(const PlotData& data);
Figure trials_figure(const PlotData& data);

/// Returns an empty figure with what all kinds share: the width of `panels` panels, and notes on rows that do not fit
/// into memory and on layer times that were not measured.
Figure figure_of(const PlotData& data, std::size_t panels, const std::string& title);

/// Adds a chart as a panel. Names of its series are added to the legend, unless they are there already or stand at the
/// ends of the lines.
void add_panel(Figure& figure, const std::string& title, Chart chart);

/// The distinct names of all series, in the order of the file, and the look of each: an index for series_look().
class PlotSeriesLooks {
 public:
  PlotSeriesLooks(const PlotData& data, const std::vector<PlotPanel>& panels);

  const std::vector<std::string>& names() const { return names_; }
  std::size_t place(const std::string& name) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::size_t> places_;
};

/// The distinct values along x: in numeric order if all are numbers, otherwise in the order of the file.
struct PlotPlaces {
  std::vector<std::string> names;
  bool numbers = false;

  /// Returns the position on the axis: the number, or the index of the name.
  double at(const std::string& name) const;
};
PlotPlaces places_of(const PlotPanel& panel);

/// Returns an axis with a tick and a label at each place.
ChartAxis places_axis(const std::string& name, const PlotPlaces& places, bool logarithmic);

}  // namespace allreplay
