// The reports on several jobs that share a cluster, and on sweeps over jobs files.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/jobs/jobs_run.hpp"
#include "sim/studies/results/result_table.hpp"

namespace allreplay {

/// The job that is slowed most; null if no slow-down exceeds rounding and the job's own jitter.
const JobResult* most_slowed(const JobsResult& result);

/// `found`: the outcome of a search, or null. `each`: with all measured iterations.
JsonValue jobs_json(const JobsResult& result, const FoundJobs* found, bool each);

/// The same with what the text needs. `undisturbed`: the same run without the file's events and background, or null.
JsonValue jobs_document(const JobsFile& file, const JobsResult& result, const FoundJobs* found,
                        const JobsResult* undisturbed);

const View& jobs_view();  ///< of jobs_document()

/// A row for each job of each run, with what distinguishes it; "same" has what all rows share. REQUIRES: the columns
/// are job_keys().
JsonValue jobs_sweep_document(const ResultTable& result);

const View& jobs_sweep_table_view();
/// For each jobs file that has several runs: the run that slows its jobs least, and the one that slows them most.
const View& jobs_sweep_verdict_view();

}  // namespace allreplay
