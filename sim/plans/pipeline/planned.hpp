// Pipeline plans from files: recovers the pipeline from a plan's programs and checks that the plan sends all it needs.
#pragma once

#include <optional>
#include <vector>

#include "sim/plans/pipeline/parallelism.hpp"
#include "sim/plans/schedule/needs.hpp"

namespace allreplay {

/// Recovers the pipeline that the plan's programs run, action by action. Throws InputError at `place`, the plan's file,
/// if a program does not consist of actions on the plan's chunks, or the rows are not a valid schedule. REQUIRES:
/// plan.pipeline.
Pipeline pipeline_of(const Plan& plan, const Degrees& degrees, const Profile& profile, const SourceLocation& place);

/// Returns the first error in a pipeline's plan, or none. In a correct plan each chunk receives its activations and
/// gradients from its neighbours, one send each; every gradient of a rank is reduced once, after its last pass, and the
/// update waits for that; if the state is sharded, every parameter is gathered before its first forward pass.
/// REQUIRES: `pipeline` is the plan's; the plan's groups are first the gradient groups, one per rank, and then pairs of
/// ranks.
std::optional<Complaint> find_plan_error(const Plan& plan, const Pipeline& pipeline, const Profile& profile);

/// Returns by chunk the smallest number of bytes sent to the next chunk, or back, for one micro-batch; 0 for the last
/// chunk. REQUIRES: find_plan_error() returns none.
std::vector<double> send_bytes(const Plan& plan, const Pipeline& pipeline, const Profile& profile);

/// Assigns channels: the lanes of a rank's reductions and gathers share one; every other lane has its own.
void set_channels(Plan& plan);

}  // namespace allreplay
