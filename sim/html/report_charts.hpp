// The charts of a report: figures of `plot` (view/plot_figure.hpp) for a sweep.
#pragma once

#include <optional>
#include <string>

#include "sim/report/sweep_result.hpp"
#include "sim/view/plot_options.hpp"

namespace allreplay {

/// The HTML of all charts: the figure that `planned` asks for, then the usual measures along the same axis. If there is
/// no plan, or the rows do not match it, each combination of profile, cluster, collective and fidelity is a panel.
std::string charts_html(const SweepResult& result, const std::optional<PlotOptions>& planned);

}  // namespace allreplay
