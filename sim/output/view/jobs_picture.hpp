// A picture of several jobs on one cluster: their slow-downs and the load of the busiest links.
#pragma once

#include "sim/output/picture/drawing.hpp"
#include "sim/studies/jobs/jobs_run.hpp"

namespace allreplay {

/// Draws the jobs' slow-downs with their spread, and the load of the three busiest links over time with the jobs
/// stacked. A transfer's bytes are spread evenly over its time in flight.
Drawing jobs_picture(const JobsResult& result, const JobsRecord& record);

}  // namespace allreplay
