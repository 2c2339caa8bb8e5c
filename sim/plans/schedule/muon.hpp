// Muon: matrices of blocks are updated by Newton-Schulz iterations, for which ranks that share them have to gather
// their shards (docs/sharding.md).
#pragma once

#include <optional>
#include <vector>

#include "sim/inputs/workload/model.hpp"
#include "sim/plans/schedule/needs.hpp"
#include "sim/plans/schedule/strategy.hpp"
#include "sim/plans/schedule/transfer_order.hpp"

namespace allreplay {

/// Returns the matrices that Muon updates, in the model's order: tensors with two dimensions in blocks, which are the
/// layers whose group has a number; all grouped layers if no group has one, and all layers without groups.
std::vector<TensorId> muon_matrices(const Profile& profile);

/// The operations of a matrix's update (newton_schulz_operations()).
double operations_of(const Tensor& matrix);

/// Adds Muon's steps after the plan's update. REQUIRES: the program updates everything in one piece; there are
/// matrices.
Plan with_muon(Plan plan, const PlanRequest& request);

/// Returns an error if matrices cannot be shared so by workers that have whole gradients, or only shards.
std::optional<Complaint> unsuitable_spread(const MuonOptions& options, bool shards);

/// Returns an error if a matrix is not with the rank that updates it, after the update and before that rank's step, or
/// if its update does not return before the next pass. `bounds`: of the plan's transfers.
std::optional<Complaint> muon_uncovered(const Plan& plan, const Profile& profile, const TransferBounds& bounds);

}  // namespace allreplay
