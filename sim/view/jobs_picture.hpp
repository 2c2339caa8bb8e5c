// Several jobs on one cluster as a picture: who is slowed, and what fills the busiest links.
#pragma once

#include "sim/jobs/jobs_run.hpp"
#include "sim/picture/drawing.hpp"

namespace allreplay {

/// Slow-downs with their spread; and of the three busiest links the load over time, the jobs stacked, each transfer's
/// bytes spread evenly over its time in flight.
Drawing jobs_picture(const JobsResult& result, const JobsRecord& record);

}  // namespace allreplay
