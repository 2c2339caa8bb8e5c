// Several jobs on one cluster, for people and for programs.
#pragma once

#include <string>

#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"
#include "sim/jobs/jobs_run.hpp"

namespace allreplay {

/// `found`: what a search found, with what there was before; else null.
std::string jobs_report(const JobsResult& result, const FoundJobs* found, const Screen& screen = {});

/// `each`: with all measured iterations.
JsonValue jobs_json(const JobsResult& result, const FoundJobs* found, bool each);

}  // namespace allreplay
