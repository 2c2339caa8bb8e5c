// Rows of results as tables show them: the same names, columns and marks for `compare` and for sweeps.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/core/json_value.hpp"
#include "sim/experiment/ranking.hpp"
#include "sim/report/scenario_labels.hpp"
#include "sim/report/view.hpp"

namespace allreplay {

/// How a row stands in its race.
struct Standing {
  bool fits = true, wins = false, ties = false;
  bool is_roomy = true;  ///< it leaves as much memory free as the rule asks for
};

/// Adds to a row with the columns of `run --json`: above_bound_share, fits, wins, ties and tight.
void add_standing(JsonValue& row, const Standing& standing);

/// Adds `names`, those of the scenario at `place` in which several differ.
void add_names(JsonValue& row, const ScenarioLabels& labels, std::size_t place);

/// The notes on marks that rows have: a tie, too little headroom, what does not fit.
void add_notes_on_marks(JsonValue& notes, const JsonValue& rows, const WinningRule& rule);

/// A table of such rows, the array `rows`. Columns without any value are not shown.
ViewTable result_table(const std::string& rows);

}  // namespace allreplay
