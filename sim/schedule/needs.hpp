// What training needs of the network, whatever the strategy; and whether a plan gives it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/schedule/plan.hpp"

namespace allreplay {

/// A tensor's gradient, summed over all workers: once one work has ended, before another starts.
struct Need {
  TensorId tensor = 0;
  Work after, before;
};

/// Every gradient after the last micro-batch's B(l), before the update, or the next F(l) where there is none.
std::vector<Need> needs_of(const Plan& plan, const Profile& profile);

/// What is wrong with a plan, and what would be right.
struct Complaint {
  std::string what, remedy;
};

/// The first byte that is missing or sent twice, or else the first transfer that waits for itself, or comes too early
/// or too late; none if the plan covers the needs. An all-reduce is one transfer, or a reduce-scatter and then an
/// all-gather of its bytes. Where the state is sharded, every gradient is reduced before the update (in groups, and
/// summed over them), and every parameter gathered after it; where parameters are, for any pass again. REQUIRES: the
/// program is one iteration (not_an_iteration).
std::optional<Complaint> uncovered(const Plan& plan, const Profile& profile);

/// What of a program is no iteration: every forward and backward pass of every micro-batch once, in turn, from the
/// first forward or any backward pass on; after the last backward pass the update, in one piece where the state is
/// sharded; copies of blocks anywhere.
std::optional<Complaint> not_an_iteration(const Plan& plan, const Profile& profile);

/// Throws InputError at `place` where a step has so many passes that they would fill the memory.
void require_bearable_passes(const Step& step, const Profile& profile, const Place& place);

/// Throws std::logic_error, saying where, unless every byte of every gradient is in exactly one slice: all that can be
/// wrong with a draft, since expand() makes the gates.
void require_complete(const Draft& draft, const Profile& profile);

/// Throws std::logic_error unless the plan covers what the profile needs.
void require_covered(const Plan& plan, const Profile& profile);

}  // namespace allreplay
