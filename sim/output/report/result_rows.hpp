// The table of results, shared by `compare` and sweeps, and its columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/output/report/view.hpp"
#include "sim/studies/experiment/memory_remedy.hpp"
#include "sim/studies/experiment/scaling.hpp"
#include "sim/studies/experiment/training_cost.hpp"
#include "sim/studies/results/ranking.hpp"
#include "sim/studies/results/scenario_labels.hpp"

namespace allreplay {

/// Adds above_bound_share, fits, ties (with the winner of its race) and tight (it fits, but leaves less memory free
/// than the rule asks for) to a row with the columns of `run --json`. `free`: see free_share().
void add_marks(JsonValue& row, bool fits, bool ties, const std::optional<double>& free, const WinningRule& rule);
void add_marks(JsonValue& row, const Outcome& outcome, const WinningRule& rule, bool ties = false);

/// Adds the note on the mark `!` if a row does not fit into memory.
void add_note_on_misfits(JsonValue& notes, const JsonValue& rows);

/// Adds a note for each mark that occurs in the rows: tie, too little headroom, does not fit into memory. `races`:
/// verdicts, which tell whether less bandwidth between nodes decided a tie.
void add_notes_on_marks(JsonValue& notes, const JsonValue& rows, const WinningRule& rule,
                        const JsonValue& races = JsonValue::array());

/// Returns the column of a table for a quantity of the registry, in the unit of another, `like`. `hole`: its key, and
/// perhaps a format, in braces.
ViewColumn quantity(const std::string& hole, std::string_view like = "", std::string sign = "");

/// The same of a confidence interval: in the unit of `like`, with as many decimals as it needs.
ViewColumn interval(const std::string& hole, std::string_view like);

/// The options that all have, and those that are not among `others`.
NamedValues common_options(const std::vector<NamedValues>& all);
NamedValues without(NamedValues options, const NamedValues& others);

/// Adds what the scaling efficiencies are relative to (ScalingReference::in_words()): if it is the same for all rows,
/// relative_to to the document, with reference_strategy unless it is a single worker; else own_relative_to to each row.
/// `references`: one for each row.
void add_references(JsonValue& document, JsonValue& rows, const std::vector<ScalingReference>& references);
const View& reference_view();

/// Returns a view of an array "rows" as a table.
ViewTable result_table();

/// The columns of a table on the keys of append_cost().
std::vector<ViewColumn> training_columns();

/// The sentence on the keys of append_cost(), each preceded by `prefix`, such as "goodput/".
std::string training_text(const std::string& prefix = "");

/// The keys of append_cost(), as an object.
JsonValue cost_json(const TrainingCost& cost);

/// The sentence on `cheapest` (cheapest_json()).
ViewText cheapest_text();

/// The flags of a remedy, and memory_bytes; null without one.
JsonValue remedy_json(const std::optional<MemoryRemedy>& remedy);

struct NamedCost {
  std::string name;
  TrainingCost cost;
};
/// The name, cost and time of the least, and, if it is another (Cheapest), those of `rather` with more_share.
JsonValue cheapest_json(const NamedCost& least, const NamedCost& rather);

}  // namespace allreplay
