// What people read of a sweep: a table of any rows, and who wins.
#pragma once

#include <string>

#include "sim/core/screen.hpp"
#include "sim/report/sweep_result.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

/// The rows of a sweep as people read them.
struct SweepTable {
  std::vector<std::string> common;  ///< "cluster k80-10gbe": the names and options that all rows have
  Table table;
  std::string marks;  ///< explains the marks of its numbers, a line each
};
SweepTable sweep_rows(const SweepResult& result);

/// A line for each row; what all share is said once.
std::string sweep_table(const SweepResult& result, const Screen& screen = {});

/// Who wins, and what to know of the rows.
std::string sweep_verdict(const SweepResult& result, const Screen& screen = {});

}  // namespace allreplay
