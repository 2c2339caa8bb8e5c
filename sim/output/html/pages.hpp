// Web pages, self-contained: of a sweep (a verdict, charts, a table and timelines) and of a diagnosis.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/output/view/plot_options.hpp"
#include "sim/studies/experiment/sweep.hpp"
#include "sim/studies/results/sweep_result.hpp"

namespace allreplay {

struct Diagnosis;

/// A row with its new outcome, or the reason why it could not be simulated.
struct ChosenTimeline {
  std::size_t row = 0;
  std::size_t group = 0;  ///< index of the result's group
  bool fastest = false;   ///< the fastest at its group's largest size, otherwise the slowest
  std::variant<Outcome, std::string> outcome;
};

struct ChosenTimelines {
  std::vector<ChosenTimeline> timelines;  ///< timelines of a group are adjacent
  std::size_t left_out = 0;               ///< the number of further rows that could have been chosen
};

/// Chooses the fastest and the slowest row that fit at the largest size of each group, at most `most` rows in all.
/// A row that is not in the sweep, or whose iteration time has changed, gets the reason instead of an outcome.
ChosenTimelines choose_timelines(const Inputs& inputs, const SweepResult& result, const Sweep& sweep, std::size_t most);

/// Replays the race at the largest size of each group, as add_doubts() does, and ranks it again: at most eight groups.
/// Races of which a row cannot be simulated again stay as they are.
void doubt_races(const Inputs& inputs, SweepResult& result, const Sweep& sweep);

/// Returns the HTML of all charts: the figure that `planned` describes, then the usual measures along the same axis.
/// Without a plan, or if the rows do not match it, each combination of profile, cluster, collective and fidelity is a
/// panel.
std::string charts_html(const SweepResult& result, const std::optional<PlotOptions>& planned);

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

/// Returns the page in HTML 5: the report, a step as measured and as simulated on one axis, the workers' heat map.
/// `title` is plain text.
std::string diagnosis_page(const Diagnosis& known, const std::string& title);

}  // namespace allreplay
