// Divides a job's samples among its workers if these differ in speed or batch size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/jobs/jobs_file.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// Returns the number of samples of each rank in a micro-batch; empty if all profiles keep their batch size. `own` is
/// the profile of the job, `profiles` has one entry per kind of worker. Throws InputError if a batch size is needed but
/// unknown, or a worker gets no sample.
std::vector<std::int64_t> batches_of(const JobEntry& job, const Profile& own,
                                     std::span<const Shared<Profile>> profiles);

/// Returns the job's kinds of worker; a job without any counts as one kind.
std::vector<WorkerKind> kinds_of(const JobEntry& job);

/// Throws InputError at `place`, naming the first difference, unless both profiles have the same layers and tensors in
/// the same order.
void require_same_model(const Profile& own, const Profile& other, const SourceLocation& place);

/// Scales the layers' times to another batch size; the update stays. REQUIRES: the profile has a batch size.
Profile with_batch(const Profile& profile, std::int64_t batch);

}  // namespace allreplay
