// The result of a sweep as its CSV holds it: what a report is made from, on any machine, long after the sweep.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/experiment/row.hpp"

namespace allreplay {

/// One row; the cells as they stand in the file, and those that a report reckons with.
struct ResultRow {
  int line = 0;  ///< in the file, from 1
  std::vector<std::string> cells;
  std::string profile, cluster, strategy, collective, fidelity, origin;
  std::string codec;  ///< "": none
  NamedValues options;
  NamedValues distinctions;  ///< what may tell it from others in its group: options, and more
  std::int64_t workers = 0;
  double iteration_s = 0, speedup = 0, efficiency = 0;
  std::optional<double> lower_bound_s;
  bool fits = true;    ///< into the memory that its options say there is
  std::string series;  ///< strategy and codec, with what tells it from others of that name in the same group
};

using Rows = std::vector<std::size_t>;  ///< places in a result

/// Rows that differ in workers, strategy and codec only (and collective, which a codec brings along): what one chart
/// shows.
struct ResultGroup {
  Rows rows;  ///< in the order of the file

  /// Of each number of workers the rows that compete: what fits, the fastest first; equals in the order of the file.
  std::map<std::int64_t, Rows> by_workers;
};

struct SweepResult {
  std::string file;
  std::vector<std::string> columns;
  std::vector<ResultRow> rows;
  std::vector<ResultGroup> groups;  ///< in the order in which the file begins them
};

/// Whether this column of a sweep's CSV holds numbers.
bool is_number_column(const std::string& name);

/// Reads what `allreplay sweep --out` writes. Columns that are not known are kept as text. Throws InputError.
SweepResult read_sweep_result(const Files& files, const std::string& file);

/// The same of a text, as if `file` held it.
SweepResult parse_sweep_result(const std::string& text, const std::string& file);

}  // namespace allreplay
