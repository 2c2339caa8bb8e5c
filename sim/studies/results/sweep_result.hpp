// A sweep's table as typed rows, groups and races, from which tables and pages are made.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/results/ranking.hpp"
#include "sim/studies/results/result_table.hpp"

namespace allreplay {

/// One row: its line in the table, views of its texts there, and the values that reports compute with.
struct ResultRow {
  const ResultLine* line = nullptr;
  std::string_view profile, strategy, collective, fidelity, origin;
  std::string_view network;       ///< the cluster's name for readers, from named_with_routing()
  std::string_view codec;         ///< "": none
  std::string_view options_text;  ///< "key=value;key=value"
  std::string_view series;        ///< strategy and codec, and the distinctions from rows of that name in its group
  std::int64_t workers = 0;
  double iteration_s = 0, efficiency = 0;
  std::int64_t collectives = 0;
  std::optional<double> samples_per_s, lower_bound_s;
  double batches = 1;  ///< micro-batches of an iteration, over all replicas
  double memory_bytes = 0;
  std::optional<double> free_memory;  ///< as a share of the limit; nothing without a limit
  std::optional<double> doubted_s;    ///< the iteration with less bandwidth between nodes, if it was replayed
  double relative_efficiency = 0;     ///< relative to its group's reference
  std::int64_t replica_workers = 1;   ///< workers that hold the model together

  bool fits() const { return line->fits; }
  NamedValues options() const { return named_values(options_text); }
  /// Returns the time that ranks rows of a race, whose iterations may differ in their number of samples.
  double seconds_of_equal_work() const { return iteration_s / batches; }
};

using Rows = std::vector<std::size_t>;  ///< indices of SweepResult::rows

/// Competing rows with the same number of workers.
struct Race {
  Rows rows;                ///< rows that fit into memory, the winner first
  std::size_t tied = 0;     ///< the number of leading rows that tie with the winner
  bool per_sample = false;  ///< numbers of samples differ, so rows are compared by samples per second
  std::int64_t nodes = 0;   ///< 0: not known
};

/// Rows of one chart: they differ only in workers, strategy and codec (and collective, if any row has a codec).
struct ResultGroup {
  Rows rows;  ///< in the order of the file
  std::map<std::int64_t, Race> by_workers;
  /// Scaling is relative to this number: the fewest workers on which the winner of the largest size is known to fit.
  std::int64_t reference_workers = 1;
  std::int64_t replica_workers = 1;  ///< of that winner
};

struct SweepResult {
  std::shared_ptr<const ResultTable> table;  ///< which rows refer to
  std::vector<ResultRow> rows;               ///< those of the table
  std::vector<ResultGroup> groups;           ///< in the order of their first rows
  WinningRule rule;
  std::shared_ptr<std::set<std::string>> names = {};  ///< texts of rows that are not in the table
};

/// Ranks a race again, whose rows now have their times in doubt.
void rank_again(const SweepResult& result, Race& race);

/// A row's efficiency relative to ResultGroup::reference_workers.
struct RelativeEfficiency {
  double value = 0;
  std::int64_t reference_workers = 1;
};

/// Returns the relative efficiency of each row. For a table that is not a sweep's CSV, that is the column `efficiency`,
/// relative to one worker. Throws InputError.
std::vector<RelativeEfficiency> relative_efficiencies(const ResultTable& table);

/// Reads the rows of a table that `allreplay sweep` wrote. Unknown columns are kept as text. Throws InputError.
SweepResult sweep_result_of(ResultTable table, const WinningRule& rule = {});

}  // namespace allreplay
