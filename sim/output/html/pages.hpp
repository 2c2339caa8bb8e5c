// Web pages, self-contained: of a sweep (a verdict, charts, a table and timelines) and of a diagnosis.
#pragma once

#include <optional>
#include <string>

#include "sim/output/html/chosen_timelines.hpp"
#include "sim/output/report/sweep_result.hpp"
#include "sim/output/view/plot_options.hpp"

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

struct Diagnosis;

/// Returns the page in HTML 5: the report, a step as measured and as simulated on one axis, the workers' heat map.
/// `title` is plain text.
std::string diagnosis_page(const Diagnosis& known, const std::string& title);

}  // namespace allreplay
