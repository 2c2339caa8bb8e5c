// The report on several jobs that share a cluster.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/jobs/jobs_run.hpp"

namespace allreplay {

/// The job that is slowed most; null if no slow-down exceeds rounding and the job's own jitter.
const JobResult* most_slowed(const JobsResult& result);

/// `found`: the outcome of a search, or null. `each`: with all measured iterations.
JsonValue jobs_json(const JobsResult& result, const FoundJobs* found, bool each);

/// The same with what the text needs. `undisturbed`: the same run without the file's events and background, or null.
JsonValue jobs_document(const JobsFile& file, const JobsResult& result, const FoundJobs* found,
                        const JobsResult* undisturbed);

const View& jobs_view();  ///< of jobs_document()

}  // namespace allreplay
