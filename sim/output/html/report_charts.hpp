// The charts of a sweep's report page, made by plot_figure() (output/view/plot_figure.hpp).
#pragma once

#include <optional>
#include <string>

#include "sim/output/view/plot_options.hpp"
#include "sim/studies/results/sweep_result.hpp"

namespace allreplay {

/// Returns the HTML of all charts: the figure that `planned` describes, then the usual measures along the same axis.
/// Without a plan, or if the rows do not match it, each combination of profile, cluster, collective and fidelity is a
/// panel.
std::string charts_html(const SweepResult& result, const std::optional<PlotOptions>& planned);

}  // namespace allreplay
