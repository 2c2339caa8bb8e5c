// The rows of a sweep as an HTML table.
#pragma once

#include <string>

#include "sim/report/sweep_result.hpp"

namespace allreplay {

struct RowsHtml {
  std::string section;  ///< what all rows have in common, the table, and the marks of its numbers
  std::string style;    ///< CSS: which of its columns are numbers
};

/// The table that `sweep` prints, for the page's script to sort and filter.
RowsHtml rows_html(const SweepResult& result);

}  // namespace allreplay
