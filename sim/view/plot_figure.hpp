// A sweep's rows as a figure: what the "plot" of its configuration asks for.
#pragma once

#include "sim/picture/chart.hpp"
#include "sim/picture/figure.hpp"
#include "sim/view/plot_table.hpp"

namespace allreplay {

/// Throws InputError where the rows are not what the options ask for.
Figure plot_figure(const ResultTable& table, PlotOptions options);

// One for each family of kinds.
Figure curves_figure(const PlotData& data);
Figure bars_figure(const PlotData& data);
Figure columns_figure(const PlotData& data);
Figure dots_figure(const PlotData& data);
Figure histogram_figure(const PlotData& data);
Figure trials_figure(const PlotData& data);

/// Columns and notes that they share: how wide panels are, and whose layer times were not measured.
Figure figure_of(const PlotData& data, std::size_t panels, const std::string& title);

/// A chart as a panel. What its series are called joins the legend, once, unless it stands at their ends.
void add_panel(Figure& figure, const std::string& title, Chart chart);

/// The names of all series, in the order of the file, each once; and where each stands among the looks.
class PlotSeriesLooks {
 public:
  PlotSeriesLooks(const PlotData& data, const std::vector<PlotPanel>& panels);

  const std::vector<std::string>& names() const { return names_; }
  std::size_t place(const std::string& name) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::size_t> places_;
};

/// The places along x in order, by number where all are, and whether they are.
struct PlotPlaces {
  std::vector<std::string> names;
  bool numbers = false;

  /// The number, or which of the names it is.
  double at(const std::string& name) const;
};
PlotPlaces places_of(const PlotPanel& panel);

/// An axis that names these places.
ChartAxis places_axis(const std::string& name, const PlotPlaces& places, bool logarithmic);

}  // namespace allreplay
