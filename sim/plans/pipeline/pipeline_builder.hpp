// Builds what all pipeline plans have in common: programs, lanes, sends, and the waits before updates. A strategy's
// planner calls begin(), adds its lanes, calls add_sends(), adds its reductions and gathers, and calls finish().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/plans/pipeline/pipeline_plan.hpp"
#include "sim/plans/pipeline/rank_programs.hpp"

namespace allreplay {

class PipelineBuilder {
 protected:
  explicit PipelineBuilder(const PipelineRequest& request);

  void begin(const ProgramShape& shape);
  std::uint32_t add_lane(std::string name, const QueueingPolicy& queueing);
  static QueueingPolicy as_listed() { return {.order = Order::AsListed}; }
  void add_sends();
  Plan finish(bool update_at_start);

  /// True if gradients of experts are reduced in groups of their own.
  bool has_expert_groups() const { return options_.sharding.has_expert_groups(); }
  /// Returns the group that reduces and gathers the rank's block.
  std::uint32_t group_of(std::uint32_t rank, std::uint32_t block) const;
  bool is_expert(const RankProgram& rank, std::uint32_t block) const {
    return group_of(rank.rank(), block) != rank.rank();
  }
  std::uint32_t reduce_lane(const RankProgram& rank, std::uint32_t block) const {
    return (is_expert(rank, block) ? expert_lanes_ : reduce_lanes_)[rank.rank()];
  }
  /// Adds a reduction among the workers that sum the block's gradients. Group and bytes follow from its block.
  std::uint32_t add_reduction(std::uint32_t rank, Transfer one);
  std::uint32_t add_gather(const RankProgram& rank, std::uint32_t block, std::uint32_t lane);

  void gate(const PlanPoint& before, const PlanPoint& after, bool next = false);
  /// Makes `after` wait for the action that ends with the work at `place`, for the action paired with it, if any, and,
  /// if that is the program's last work, for the rank's last exchange.
  void gate_after_action(const RankProgram& rank, std::uint32_t place, const PlanPoint& after);
  /// Makes `after` wait for the work at `place` and, if that is the program's last one, for the rank's last exchange.
  void gate_after_work(const RankProgram& rank, std::uint32_t place, const PlanPoint& after);
  /// The same for a gradient, which is ready when its layer's computing has ended.
  void gate_after_gradient(const RankProgram& rank, std::uint32_t place, const PlanPoint& after);
  /// Makes the rank's first action, and a receive that is posted before it, wait for the gather.
  void gate_first_action(const RankProgram& rank, std::uint32_t gather);

  PlanPoint update_of(const RankProgram& rank) const { return rank.point(0); }
  /// Returns the place of the layer's work in the first forward pass of its chunk.
  std::uint32_t first_pass_of(const RankProgram& rank, std::uint32_t chunk, LayerId layer) const;

  const PipelineRequest& request_;
  const Pipeline& pipeline_;
  const Profile& profile_;
  const StrategyOptions& options_;
  Barrier barrier_;
  Plan plan_;
  std::vector<RankProgram> ranks_;
  std::vector<std::uint32_t> gather_lanes_, reduce_lanes_, expert_lanes_;  // by rank

 private:
  bool joins_actions() const;

  // A send between two ranks, not yet added as a transfer.
  struct PendingSend {
    std::uint32_t from = 0, to = 0;  // ranks
    std::uint32_t chunk = 0, micro_batch = 0;
    double bytes = 0;
    ActionPlace sent_after, awaited_by;
  };

  std::uint32_t add(Transfer one);
  std::vector<PendingSend> sends_of(std::uint32_t rank) const;
  std::uint32_t add_pairs(std::uint32_t from, std::uint32_t to);
  void exchange(const std::vector<PendingSend>& sends, const std::vector<std::uint32_t>& transfers);
  void post_first_receipts(bool update_at_start);
  void add_tied();
  void await_ends(bool update_at_start);

  std::vector<std::vector<std::uint32_t>> reductions_;  // by rank
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> groups_of_pairs_;
  std::vector<std::optional<std::uint32_t>> last_exchange_;              // by rank: the send after its last action
  std::vector<std::pair<std::uint32_t, std::uint32_t>> first_receipts_;  // rank and the transfer it waits for first
};

}  // namespace allreplay
