// What training needs of the network, whatever the strategy; and whether a plan gives it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/schedule/plan.hpp"

namespace allreplay {

/// Of every tensor: what is to happen to the bytes of its payload, and among whom, once its layer's work `after` has
/// ended and before its work `before` starts.
struct Need {
  CollectiveOp op = CollectiveOp::AllReduce;
  std::uint32_t group = group_all;
  Payload::Kind payload = Payload::Kind::Gradients;
  std::uint32_t micro_batch = 0;  ///< the micro-batch whose gradients it is about, or for whose passes parameters come
  Activity after = Activity::Backward, before = Activity::Update;
  bool operator==(const Need&) const = default;
};

/// What follows from how the state is shared out, whatever the plan. Unsharded: gradients are summed among all after
/// the last micro-batch's backward pass, before the update (left out where it takes no time: before the layer's next
/// forward pass). Sharded: they are reduced in the shard groups, the shards summed over the groups if there are
/// several, and parameters are gathered after the update, before the first forward pass.
std::vector<Need> needs_of(const ShardingConfig& sharding);

/// What is wrong with a plan, and what would be right.
struct Complaint {
  std::string what, remedy;
};

/// The first byte that is missing or sent twice, or else the first transfer that waits for itself, or comes too early
/// or too late; none if the plan covers the needs, for each of its roles. An all-reduce is one transfer, or a
/// reduce-scatter and then an all-gather of its bytes; one among all serves shards and their sums alike. What is
/// reduced of an earlier micro-batch, too, is reduced whole; parameters may be gathered again for any pass. REQUIRES:
/// the programs are one iteration (not_an_iteration).
std::optional<Complaint> uncovered(const Plan& plan, const Profile& profile);

/// The plan's transfers, those waited for first; or one that waits for itself, by gates of one iteration, by the
/// programs, or because its lane starts transfers as listed.
struct TransferOrder {
  std::vector<std::uint32_t> transfers;
  std::optional<std::uint32_t> in_circle;
};
TransferOrder order_of_transfers(const Plan& plan);

/// What is wrong with a plan that has one.
Complaint circle_of(const Plan& plan, std::uint32_t in_circle, const Profile& profile);

/// What of a program is no iteration: every forward and backward pass of every micro-batch once, in turn, from the
/// first forward or any backward pass on; after the last backward pass the update, in one piece where the state is
/// sharded, else in one or of each layer that has tensors, before its first forward pass; copies of blocks anywhere.
std::optional<Complaint> not_an_iteration(const Plan& plan, const Profile& profile);

/// Throws InputError at `place` where a step has so many passes that they would fill the memory.
void require_bearable_passes(const ShardingConfig& sharding, const Profile& profile, const SourceLocation& place);

/// Throws std::logic_error, saying where, unless every byte of every gradient is in exactly one slice: all that can be
/// wrong with a schedule, since expand() makes the gates.
void require_complete(const BucketSchedule& schedule, const Profile& profile);

/// Throws std::logic_error unless the plan covers what the profile needs.
void require_covered(const Plan& plan, const Profile& profile);

}  // namespace allreplay
