// The needs of training for communication, independent of the strategy, and the check that a plan meets them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/plans/schedule/plan.hpp"

namespace allreplay {

/// An operation that every tensor's gradients or parameters need, in each of a family of groups: after its layer's work
/// `after` has ended and before its layer's work `before` starts.
struct Need {
  CollectiveOp op = CollectiveOp::AllReduce;
  std::uint32_t group = group_all;
  Payload::Kind payload = Payload::Kind::Gradients;
  std::uint32_t micro_batch = 0;  ///< the one whose gradients are reduced, or whose passes read the parameters
  Activity after = Activity::Backward, before = Activity::Update;
  std::int64_t every = 1;      ///< H: needed once in this many steps
  std::int64_t staleness = 0;  ///< s: `before` is the one of s steps later
  bool operator==(const Need&) const = default;
};

/// Returns the needs that follow from the sharding. Unsharded: gradients are summed among all workers after the last
/// micro-batch's backward pass and before the update (or before the layer's next forward pass, if the program has no
/// update). Sharded: gradients are reduced in the shard groups, shards are summed over the groups if there are several
/// (reduced to shards of shards, if groups share the optimizer), and parameters are gathered after the update and
/// before the first forward pass (first the shards among the groups, if these share the optimizer).
std::vector<Need> needs_of(const ShardingConfig& sharding);

/// An error in a plan, and what would be right.
struct Complaint {
  std::string what, remedy;
};

/// Returns the first error: a byte that is missing or sent twice, or a transfer that waits for itself, or is too early
/// or too late. Returns none if the plan covers the needs for each of its roles. An all-reduce may be one transfer, or
/// a reduce-scatter followed by an all-gather of the same bytes; an all-reduce among all workers also covers the
/// reduction of shards and their sums. If an earlier micro-batch is reduced too, all of its gradients have to be.
/// Parameters may be gathered again for any pass. REQUIRES: find_iteration_error() returns none.
std::optional<Complaint> find_plan_error(const Plan& plan, const Profile& profile);

/// The transfers that reduce and gather the tensors of a role.
struct Duty {
  std::uint32_t role = 0;
  std::vector<std::uint32_t> transfers;  ///< indices in Plan::transfers
  std::vector<bool> holds;               ///< by tensor
};

/// Checks the duties in the same way. Without them each role holds all tensors, and all transfers are its own.
std::optional<Complaint> find_plan_error(const Plan& plan, const Profile& profile, const std::vector<Duty>& duties);

/// Returns an error unless every program is one iteration: every forward and backward pass of every micro-batch once,
/// in turn, starting with the first forward or any backward pass; after the last backward pass the update, in one piece
/// or, if the state is not sharded, for each layer with tensors before its first forward pass; copies anywhere.
std::optional<Complaint> find_iteration_error(const Plan& plan, const Profile& profile);

/// Throws InputError at `place` if the passes of a step would fill the memory.
void require_bearable_passes(const ShardingConfig& sharding, const Profile& profile, const SourceLocation& place);

/// Throws std::logic_error unless every byte of every gradient is in exactly one slice. Nothing else can be wrong with
/// a schedule, since expand() makes the gates.
void require_complete(const BucketSchedule& schedule, const Profile& profile);

/// Throws std::logic_error unless the plan covers what the profile needs.
void require_covered(const Plan& plan, const Profile& profile);

}  // namespace allreplay
