// The result of a sweep as its CSV holds it: what tables and pages are made from, on any machine, long after the sweep.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/experiment/ranking.hpp"
#include "sim/experiment/result_table.hpp"

namespace allreplay {

/// One row; the cells as they stand in the file, and those that a report reckons with.
struct ResultRow : ResultLine {
  std::string profile, cluster, strategy, collective, fidelity, origin;
  std::string routing;  ///< "": the cluster's, or none to choose
  std::string network;  ///< the cluster as people are told it, named_with_routing()
  std::string codec;    ///< "": none
  NamedValues options;
  NamedValues distinctions;  ///< what may tell it from others in its group: options, and more
  std::int64_t workers = 0;
  Metrics metrics;     ///< those that reports show
  double batches = 1;  ///< micro-batches of an iteration, of all replicas
  double memory_bytes = 0;
  SpeedPerGpu speed;
  double relative_efficiency = 0;  ///< to its group's reference
  std::string series;  ///< strategy and codec, with what tells it from others of that name in the same group

  bool is_limited() const;                    ///< its options say how much memory there is
  std::optional<double> free_memory() const;  ///< share of it; none if they do not
  /// What ranks rows of one race, in which iterations may have other numbers of samples.
  double seconds_of_equal_work() const { return metrics.iteration_s / batches; }
};

using Rows = std::vector<std::size_t>;  ///< places in a result

/// Rows of one number of workers that compete.
struct Race {
  Rows rows;                ///< what fits, the winner first
  std::size_t tied = 0;     ///< so many of the first are as fast
  bool per_sample = false;  ///< iterations have other numbers of samples: compared by samples per second
};

/// Rows that differ in workers, strategy and codec only (and collective, which a codec brings along): what one chart
/// shows.
struct ResultGroup {
  Rows rows;  ///< in the order of the file
  std::map<std::int64_t, Race> by_workers;
  /// What scaling is relative to: the fewest workers on which the winner of the largest size is known to fit.
  std::int64_t reference_workers = 1;
};

struct SweepResult {
  std::string file;
  std::vector<std::string> columns;
  std::vector<ResultRow> rows;
  std::vector<ResultGroup> groups;  ///< in the order in which the file begins them
  WinningRule rule;
};

/// A row's efficiency over the fewest workers on which its group's winner is known to fit.
struct RelativeEfficiency {
  double value = 0;
  std::int64_t reference_workers = 1;
};

/// Of each row. Those of a table that is no sweep's CSV are the column `efficiency`, over one worker. Throws
/// InputError.
std::vector<RelativeEfficiency> relative_efficiencies(const ResultTable& table);

/// Whether this column of a sweep's CSV holds numbers.
bool is_number_column(const std::string& name);

/// Reads what `allreplay sweep --out` writes. Columns that are not known are kept as text. Throws InputError.
SweepResult read_sweep_result(const Files& files, const std::string& file, const WinningRule& rule = {});

/// The same of a text, as if `file` held it.
SweepResult parse_sweep_result(const std::string& text, const std::string& file, const WinningRule& rule = {});

}  // namespace allreplay
