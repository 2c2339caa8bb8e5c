// What training needs of the network, whatever the strategy; and whether a plan gives it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/schedule/plan.hpp"

namespace allreplay {

/// A tensor's gradient, summed over all workers: once one work has ended, before another starts.
struct Need {
  TensorId tensor = 0;
  Work after, before;
};

/// Data parallelism without sharding: every gradient after B(l), before the next F(l).
std::vector<Need> needs_of(const Profile& profile);

/// What is wrong with a plan, and what would be right.
struct Complaint {
  std::string what, remedy;
};

/// The first byte that is missing or sent twice, or else the first transfer that waits for itself, or comes too early
/// or too late; none if the plan covers the needs. An all-reduce is one transfer, or a reduce-scatter and then an
/// all-gather of its bytes.
std::optional<Complaint> uncovered(const Plan& plan, const std::vector<Need>& needs, const Profile& profile);

/// Throws std::logic_error, saying where, unless every byte of every gradient is in exactly one slice: all that can be
/// wrong with a draft, since expand() makes the gates.
void require_complete(const Draft& draft, const Profile& profile);

/// Throws std::logic_error unless the plan covers what the profile needs.
void require_covered(const Plan& plan, const Profile& profile);

}  // namespace allreplay
