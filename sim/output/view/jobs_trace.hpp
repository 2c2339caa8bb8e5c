// Writes the timeline of several jobs for chrome://tracing and ui.perfetto.dev.
#pragma once

#include <string>

#include "sim/studies/jobs/jobs_run.hpp"

namespace allreplay {

/// Returns the last iterations of each job as Chrome trace events (JSON, times in microseconds): a process per job with
/// a thread per class of workers and per lane (several if transfers of a lane overlap), and one process for events and
/// background traffic.
std::string jobs_trace(const JobsResult& result, const JobsFile& file, const JobsRecord& record);

}  // namespace allreplay
