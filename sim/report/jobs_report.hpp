// Several jobs on one cluster, for people and for programs.
#pragma once

#include <string>

#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"
#include "sim/jobs/jobs_run.hpp"

namespace allreplay {

/// The job that is slowed most, if any is by more than rounding and its own jitter make of nothing; else null.
const JobResult* most_slowed(const JobsResult& result);

/// "events", "background", "events and background"; "" where the file has neither.
std::string disturbances_text(const JobsFile& file);

/// `found`: what a search found, with what there was before; else null. `undisturbed`: the jobs without the file's
/// events and background; null: nobody asks.
std::string jobs_report(const JobsFile& file, const JobsResult& result, const FoundJobs* found,
                        const JobsResult* undisturbed, const Screen& screen = {});

/// `each`: with all measured iterations.
JsonValue jobs_json(const JobsResult& result, const FoundJobs* found, bool each);

}  // namespace allreplay
