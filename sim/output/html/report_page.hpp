// Renders a sweep as one self-contained web page: a verdict, charts, a table and timelines.
#pragma once

#include <optional>
#include <string>

#include "sim/output/html/chosen_timelines.hpp"
#include "sim/output/view/plot_options.hpp"
#include "sim/studies/results/sweep_result.hpp"

namespace allreplay {

struct PageTitle {
  std::string name;        ///< "": the CSV's name
  std::string reproduces;  ///< the figure or table that the sweep reproduces; may be empty
  std::string description;
  std::optional<PlotOptions> plot;  ///< options of the first chart
};

/// Reads the title from a configuration file. Throws InputError.
PageTitle page_title(const Files& files, const std::string& config);

/// Returns the page in HTML 5. The same arguments give the same bytes.
std::string report_page(const SweepResult& result, const ChosenTimelines& chosen, const PageTitle& title);

}  // namespace allreplay
