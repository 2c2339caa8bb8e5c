// The pictures that commands draw of their results, except for those of `compare` (compare_picture.hpp) and `plot`
// (plot_figure.hpp).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/output/picture/drawing.hpp"

namespace allreplay {

struct Advice;
struct Calibration;
struct Diagnosis;
struct JobsRecord;
struct JobsResult;
struct LayoutAdvice;
struct LayoutSearch;
struct LinkUsage;
struct Outcome;
struct PricedCollective;
struct TopologySpec;
struct Validation;
struct WhatIf;

/// Draws the last replayed iteration of each outcome, one below the other on the same time axis: the compute stream of
/// each class of workers with its waits, the collectives in flight by lane, the length of the iteration and of its
/// lower bound, and memory over time (TimelineRows::memory). Shapes carry a kind: to_string(Activity), "waiting",
/// "exposed" (a collective that computation waits for), "iteration", "bound", "memory", "peak". Bars
/// thinner than a pixel are merged with their neighbours. REQUIRES: at least one outcome, all of one profile.
Drawing timeline_picture(const std::vector<Outcome>& outcomes);

/// Draws a slide: nodes in rows from the workers up, a torus as a grid, other topologies without switches as a circle.
/// Equal parts are drawn once, in a frame with their count (topology_sketch.hpp); links that are down are crossed out.
/// Next to each level stand the number of its links, their bandwidth and utilisation. If nothing is sent, the network
/// is drawn without utilisation.
Drawing links_picture(const LinkUsage& usage, const TopologySpec& spec, const std::string& title);

/// Draws the bus bandwidth of collectives by message size, and where the fastest changes. REQUIRES: a collective and a
/// size with a time.
Drawing busbw_picture(const std::vector<PricedCollective>& all, const std::string& title);

/// Draws iteration times over a worker's memory for all settings tried, a colour for each strategy, with a line through
/// the Pareto front and one at the memory limit. REQUIRES: at least one setting.
Drawing memory_picture(const std::vector<Advice>& ranking);

/// Draws the same for layouts, a colour for each strategy and schedule. REQUIRES: at least one layout.
Drawing memory_picture(const LayoutAdvice& advice, const LayoutSearch& search);

/// Draws the gains of a what-if as bars, the largest first, those that do not fit into memory last.
Drawing what_if_picture(const WhatIf& answer);

/// Draws the jobs' slow-downs with their spread, and the load of the three busiest links over time with the jobs
/// stacked. A transfer's bytes are spread evenly over its time in flight.
Drawing jobs_picture(const JobsResult& result, const JobsRecord& record);

/// Draws workers as replicas by stages; the colour says how much longer a step takes if only this worker is slow.
Drawing workers_picture(const Diagnosis& known);

/// Draws the step that lost most time as measured, replayed and ideal, one below the other on one time axis. If there
/// are many workers, only the slowest are shown.
Drawing step_picture(const Diagnosis& known);

/// A fitted log. If `law` has a name, that third cost model is drawn next to the line and the table.
struct DrawnCalibration {
  const Calibration& fitted;
  std::string law;
  std::function<double(double bytes)> seconds;
};

/// Draws, for each log, times over message sizes, as measured and as the line and the table predict them, on
/// logarithmic axes; below it, predicted over measured times.
Drawing calibration_picture(const std::vector<DrawnCalibration>& logs);

/// Draws predicted over measured values by group on logarithmic axes, with a line for exact predictions and dashed
/// lines at 0.8 and 1.25 times the measured value.
Drawing validation_picture(const Validation& validation);

}  // namespace allreplay
