// Builds plans transfer by transfer, for strategies that are not a BucketSchedule.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/plans/schedule/plan.hpp"

namespace allreplay {

class PlanBuilder {
 public:
  /// REQUIRES: the profile outlives it.
  PlanBuilder(std::string_view strategy, const ShardingConfig& sharding, const Profile& profile) : profile_(profile) {
    plan_.strategy = strategy;
    plan_.sharding = sharding;
    plan_.groups = data_parallel_groups(sharding);
  }

  Plan& plan() { return plan_; }
  const Plan& plan() const { return plan_; }
  Plan take() { return std::move(plan_); }

  /// Appends a work to the program and returns its place.
  std::size_t add(const Work& work) {
    plan_.program().push_back(work);
    return plan_.program().size() - 1;
  }
  std::uint32_t add(Block block) {
    plan_.blocks.push_back(std::move(block));
    return static_cast<std::uint32_t>(plan_.blocks.size() - 1);
  }
  std::uint32_t add_lane(std::string name) {
    plan_.lanes.push_back({std::move(name), Order::AsListed, {}, Time(0)});
    return static_cast<std::uint32_t>(plan_.lanes.size() - 1);
  }
  /// Appends a lane that computes, for compute().
  std::uint32_t add_stream(std::string name) {
    const std::uint32_t lane = add_lane(std::move(name));
    plan_.lanes[lane].stream = true;
    return lane;
  }

  /// The lanes of a strategy that shards parameters.
  struct ShardLanes {
    std::uint32_t gather = 0, reduce = 0, replicate = 0;
  };
  /// Appends them. `separate`: gathers and reductions have a lane each. Sums of shards have one if there are groups.
  ShardLanes add_shard_lanes(bool separate) {
    ShardLanes lanes{.gather = add_lane(separate ? "gather" : "gather and reduce")};
    lanes.reduce = separate ? add_lane("reduce") : lanes.gather;
    if (plan_.sharding.shard_group > 0) lanes.replicate = add_lane("replicate");
    return lanes;
  }

  // Append a transfer to a lane: any, or that of a block's parameters or gradients.
  PlanPoint send(CollectiveOp op, std::uint32_t group, const Payload& payload, std::uint32_t lane,
                 std::uint32_t micro_batch) {
    const WireBytes bytes = wire_bytes(plan_, group, payload, profile_);
    plan_.transfers.push_back({op, group, payload, bytes, lane, 0, micro_batch});
    return transfer(plan_.transfers.size() - 1);
  }
  PlanPoint gather(std::uint32_t block, std::uint32_t lane, std::uint32_t micro_batch,
                   DataParallelGroup group = group_shard) {
    return send(CollectiveOp::AllGather, group, {Payload::Kind::Parameters, block}, lane, micro_batch);
  }
  PlanPoint reduce(CollectiveOp op, DataParallelGroup group, std::uint32_t block, std::uint32_t lane,
                   std::uint32_t micro_batch) {
    return send(op, group, {Payload::Kind::Gradients, block}, lane, micro_batch);
  }
  /// Appends an all-reduce of a shard of the block's gradients among the shard groups.
  PlanPoint sum_shards(std::uint32_t block, std::uint32_t lane, std::uint32_t micro_batch) {
    return reduce(CollectiveOp::AllReduce, group_replica, block, lane, micro_batch);
  }

  /// Appends a computation that reads this many bytes of a block to a lane made by add_stream().
  PlanPoint compute(Activity computes, const Payload& payload, WireBytes bytes, std::uint32_t stream,
                    std::uint32_t micro_batch) {
    plan_.transfers.push_back({.op = CollectiveOp::Send,  // a placeholder: it neither reduces nor gathers
                               .group = group_shard,
                               .payload = payload,
                               .bytes = bytes,
                               .lane = stream,
                               .micro_batch = micro_batch,
                               .computes = computes});
    return transfer(plan_.transfers.size() - 1);
  }

  // A program with places, as PyTorch runs one: a collective starts after the works that precede it in the program, and
  // after the transfers that the program has waited for by then.

  /// Adds a work at this place.
  void compute(const Work& work) {
    gate(waits_, allreplay::work(add(work)));
    waits_.clear();
  }
  /// Adds a pass of the layers at this place, and returns the places of its works.
  ProgramRange pass(Activity kind, const Unit& layers, std::uint32_t micro_batch) {
    ProgramRange range{.first = plan_.program().size(), .last = plan_.program().size() + (layers.last - layers.first)};
    for (LayerId i = layers.first; i <= layers.last; ++i)
      compute({kind, kind == Activity::Forward ? i : layers.last - (i - layers.first), micro_batch});
    return range;
  }
  /// Issues a transfer at this place.
  PlanPoint issue(const PlanPoint& transfer) {
    gate(so_far(), transfer);
    gate(waits_, transfer);
    return transfer;
  }
  /// Makes everything after this place wait for a transfer.
  void wait_for(const PlanPoint& transfer) { waits_.push_back(transfer); }
  void wait_for(std::span<const PlanPoint> transfers) {
    waits_.insert(waits_.end(), transfers.begin(), transfers.end());
  }
  /// Forgets the transfers that the next work would wait for.
  void forget_waits() { waits_.clear(); }

  void gate(const PlanPoint& before, const PlanPoint& after) { plan_.gates.push_back({before, after}); }
  void gate(std::span<const PlanPoint> before, const PlanPoint& after) {
    for (const PlanPoint& one : before) gate(one, after);
  }
  /// The end of the last work added to the program, or the program's start.
  PlanPoint so_far() const { return plan_.program().empty() ? start_of_program() : work(plan_.program().size() - 1); }

 private:
  const Profile& profile_;
  Plan plan_;
  std::vector<PlanPoint> waits_;  // transfers waited for since the last work
};

/// Returns a block of the layers' whole tensors.
Block block_of_layers(const Unit& layers, const Profile& profile);

Block without_frozen(Block block, const Profile& profile);

/// Cuts a block into pieces of `most` elements, of which the last one may be smaller. Tensors are cut, too.
std::vector<Block> cut_into_pieces(const Block& block, std::int64_t most, const Profile& profile);

/// Returns the block that reduces the gradients of a block of parameters: the same unless tensors of it are frozen,
/// else a new block without these; none if all are.
std::optional<std::uint32_t> gradients_of(std::uint32_t block, Plan& plan, const Profile& profile);

}  // namespace allreplay
