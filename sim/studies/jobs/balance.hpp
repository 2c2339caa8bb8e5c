// Divides a job's samples among its workers if these differ in speed or batch size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/inputs/workload/profile.hpp"
#include "sim/studies/jobs/jobs_file.hpp"

namespace allreplay {

/// Returns each rank's samples in a micro-batch; empty if all profiles keep their batch size. `own`: profile of the
/// job; `profiles`: by kind of worker. Throws InputError if a needed batch size is unknown, or a worker gets no sample.
std::vector<std::int64_t> batches_of(const JobEntry& job, const Profile& own,
                                     std::span<const Shared<Profile>> profiles);

/// Returns the job's kinds of worker; a job without any counts as one kind.
std::vector<WorkerKind> kinds_of(const JobEntry& job);

/// Throws InputError at `place`, naming the first difference, unless both have the same layers and tensors in order.
void require_same_model(const Profile& own, const Profile& other, const SourceLocation& place);

/// Scales the layers' times to another batch size; the update stays. REQUIRES: the profile has a batch size.
Profile with_batch(const Profile& profile, std::int64_t batch);

}  // namespace allreplay
