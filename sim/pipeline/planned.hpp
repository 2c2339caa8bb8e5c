// A pipeline's plan from elsewhere: which pipeline it is for, and whether it does what one needs.
#pragma once

#include <optional>
#include <vector>

#include "sim/pipeline/parallelism.hpp"
#include "sim/schedule/needs.hpp"

namespace allreplay {

/// The pipeline that the plan's programs run, action by action. Throws InputError at `place`, the plan's file, for
/// programs that are no rows of actions of the plan's chunks, or rows that are no schedule. REQUIRES: plan.pipeline.
Pipeline pipeline_of(const Plan& plan, const Degrees& degrees, const Profile& profile, const SourceLocation& place);

/// The first thing that is wrong with a pipeline's plan; none if each chunk gets its activations and gradients from its
/// neighbours, one send each; every gradient of a rank is reduced once, behind its last pass, and where the state is
/// sharded every parameter gathered before its first forward pass; and the update waits for it. Each transfer says
/// itself what it waits for and what waits for it. REQUIRES: `pipeline` is the plan's; its groups are the ranks'
/// gradients', and then pairs of ranks.
std::optional<Complaint> uncovered(const Plan& plan, const Pipeline& pipeline, const Profile& profile);

/// By chunk: the fewest bytes that it hands to the next for one micro-batch, or takes back; 0 for the last. REQUIRES:
/// the plan covers what the pipeline needs.
std::vector<double> send_bytes(const Plan& plan, const Pipeline& pipeline, const Profile& profile);

/// Lanes of a rank's reductions and gathers share its channel; each other lane has one of its own.
void set_channels(Plan& plan);

}  // namespace allreplay
