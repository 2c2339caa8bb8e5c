// The table of results, shared by `compare` and sweeps, and its columns.
#pragma once

#include <string>
#include <string_view>

#include "sim/output/report/view.hpp"
#include "sim/studies/results/ranking.hpp"
#include "sim/studies/results/scenario_labels.hpp"

namespace allreplay {

/// Returns the column of a table for a quantity of the registry, in the unit of another, `like`. `hole`: its key, and
/// perhaps a format, in braces.
ViewColumn quantity(const std::string& hole, std::string_view like = "", std::string sign = "");

/// Returns a view of the array at the pointer `rows` as a table. Columns without any value are not shown.
ViewTable result_table(const std::string& rows);

}  // namespace allreplay
