// Renders the rows of a sweep as an HTML table.
#pragma once

#include <string>

#include "sim/output/report/sweep_result.hpp"

namespace allreplay {

struct RowsHtml {
  std::string section;  ///< what all rows have in common, the table, and the marks of its numbers
  std::string style;    ///< CSS that aligns its columns of numbers
};

/// Returns the table that `sweep` prints; the page's script sorts and filters it.
RowsHtml rows_html(const JsonValue& document);

}  // namespace allreplay
