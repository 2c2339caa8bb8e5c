// Notes on how several jobs were measured.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/studies/jobs/jobs_run.hpp"

namespace allreplay {

/// The events outside the measured time of jobs that they concern, with these jobs; with none if no worker is there.
JsonValue unmeasured_events(const JobsFile& file, const JobsResult& result);

/// See notes.hpp.
JsonValue jobs_notes(const JobsFile& file, const JobsResult& result);

/// True if something slows the job's computation while it is measured; its exposed communication then includes that.
bool computes_slowly(const JobsFile& file, const JobResult& job);

}  // namespace allreplay
