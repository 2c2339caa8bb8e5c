// How many samples each worker of a job gets, where workers differ.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/jobs/jobs_file.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// The samples of each rank in a micro-batch; empty where nothing is scaled. `profiles`: of each kind of worker, at
/// least one; `own`: the job's. Throws InputError where a batch size is needed and unknown, and where a worker gets no
/// sample.
std::vector<std::int64_t> batches_of(const JobEntry& job, const Profile& own,
                                     std::span<const Shared<Profile>> profiles);

/// Kinds of a job, one where it has none.
std::vector<WorkerKind> kinds_of(const JobEntry& job);

/// Throws InputError at `place`, naming the first difference, unless both are of one model: the same layers with the
/// same tensors, in the same order.
void require_same_model(const Profile& own, const Profile& other, const SourceLocation& place);

/// The profile at another batch size: its layers' times in proportion, the update as it is.
Profile with_batch(const Profile& profile, std::int64_t batch);

}  // namespace allreplay
