// The report of a sweep: its rows, and the winners.
#pragma once

#include <map>
#include <string>

#include "sim/output/report/view.hpp"
#include "sim/studies/calibration/known_errors.hpp"
#include "sim/studies/results/sweep_result.hpp"

namespace allreplay {

/// rows (the columns of the CSV that the table shows, relative_efficiency, names and marks), same (names that all rows
/// share), groups, races (the verdict of each group at its largest size), wins (how many groups each series wins),
/// notes. Without rows, which may be many, if the table is not shown. `errors`: of estimated profiles, by their names.
JsonValue sweep_document(const SweepResult& result, bool with_rows = true,
                         const std::map<std::string, NearestError>& errors = {});

const View& sweep_table_view();    ///< what all rows share, and the rows
const View& sweep_verdict_view();  ///< the winners, and the notes

}  // namespace allreplay
