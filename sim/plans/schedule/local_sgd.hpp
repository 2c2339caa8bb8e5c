// Rounds of local SGD and DiLoCo: workers take local steps, and average their parameters once in a round.
#pragma once

#include <optional>

#include "sim/plans/schedule/needs.hpp"
#include "sim/plans/schedule/strategy.hpp"
#include "sim/plans/schedule/transfer_order.hpp"

namespace allreplay {

/// Returns the needs of a round: every fragment's pseudo-gradients are averaged once, after an update that is at most
/// `delay` steps before the update that its outer update follows.
std::vector<Need> needs_of_round(const ShardingConfig& sharding);

/// Returns the first error of a plan whose steps are local (ShardingConfig::averages()).
std::optional<Complaint> uncovered_round(const Plan& plan, const Profile& profile, const TransferGates& gates);

/// Returns an error unless the program is a round: the passes of its steps in turn, an update after each, and outer
/// updates after updates.
std::optional<Complaint> not_a_round(const Plan& plan, const Profile& profile);

/// Returns an error in the options of diloco; none if fragments, delay and steps suit each other.
std::optional<Complaint> unsuitable_round(const OuterOptions& options, std::size_t units);

}  // namespace allreplay
