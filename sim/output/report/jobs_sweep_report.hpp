// The report of a sweep over jobs files.
#pragma once

#include "sim/output/report/view.hpp"
#include "sim/studies/results/result_table.hpp"

namespace allreplay {

/// A row for each job of each run, with what distinguishes it; "same" has what all rows share. REQUIRES: the columns
/// are job_keys().
JsonValue jobs_sweep_document(const ResultTable& result);

const View& jobs_sweep_table_view();
/// For each jobs file that has several runs: the run that slows its jobs least, and the one that slows them most.
const View& jobs_sweep_verdict_view();

}  // namespace allreplay
