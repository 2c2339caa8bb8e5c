// Several jobs' timeline for chrome://tracing and ui.perfetto.dev.
#pragma once

#include <string>

#include "sim/jobs/jobs_run.hpp"

namespace allreplay {

/// The last iterations of each job as Chrome trace events (JSON): a process per job with a thread per class of workers
/// and lane (several, where several transfers of a lane are in flight at once), and one of events and others' traffic.
/// Times in microseconds.
std::string jobs_trace(const JobsResult& result, const JobsFile& file, const JobsRecord& record);

}  // namespace allreplay
