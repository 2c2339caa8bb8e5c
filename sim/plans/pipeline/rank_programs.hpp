// Writes rows of actions out as programs, layer by layer.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/plans/pipeline/parallelism.hpp"
#include "sim/plans/schedule/plan.hpp"

namespace allreplay {

/// The works that programs contain in addition to passes.
struct ProgramShape {
  bool update_by_layer = false;  ///< each layer before its first forward pass; else everything at the start
  bool updates = false;          ///< updates by layer are written (they take time)
  bool marks = false;            ///< a mark, from which ticks are counted, before each pass that is reduced
  bool every_pass = false;       ///< every gradient pass is reduced; else only a chunk's last one
};

/// The places of an action's works in its rank's program.
struct Placed {
  std::uint32_t entry = 0;  ///< its first work, updates of its layers included
  std::uint32_t start = 0;  ///< its first pass, or the mark before it: this waits for received data
  std::uint32_t last = 0;   ///< its last pass
};

/// A gradient pass of a chunk.
struct GradientPass {
  std::uint32_t chunk = 0, micro_batch = 0;
  std::uint32_t number = 0;  ///< its index among the gradient passes of its chunk
  std::uint32_t action = 0;  ///< index in the row
  Activity kind = Activity::Backward;
  bool last = false;  ///< the chunk's last gradient pass
};

class RankProgram {
 public:
  RankProgram(const Pipeline& pipeline, std::uint32_t rank, const Profile& profile, const ProgramShape& shape);

  std::vector<Work> works;
  std::vector<WorkPair> pairs;  ///< see pair_actions()

  /// Pairs each forward action with the whole backward action that directly follows it, from the start of the row.
  /// `only_joined`: only if the schedule joins them.
  void pair_actions(bool only_joined);

  std::uint32_t rank() const { return rank_; }
  const ActionRow& row() const { return row_; }
  /// REQUIRES: a compute action.
  const Placed& at(std::size_t action) const { return placed_[action]; }
  /// Returns the indices of the compute actions, in order.
  const std::vector<std::uint32_t>& actions() const { return actions_; }
  const std::vector<GradientPass>& passes() const { return passes_; }
  /// Returns the action that first runs the chunk forward.
  std::uint32_t first_forward(std::uint32_t chunk) const { return first_forward_.at(chunk); }
  std::uint32_t last_work() const { return static_cast<std::uint32_t>(works.size() - 1); }

  PlanPoint point(std::size_t place) const { return work(place, rank_); }
  /// The end of the work's computing, before the tokens that it sends in a pair have arrived.
  PlanPoint computed(std::uint32_t place) const { return WorkPoint{place, rank_, pair_of(place) != nullptr}; }
  /// Returns the pair that the work belongs to; null: none.
  const WorkPair* pair_of(std::uint32_t place) const;
  /// REQUIRES: the program contains the work.
  std::uint32_t place(Activity kind, std::uint32_t item, std::uint32_t micro_batch) const;
  std::optional<std::uint32_t> find(Activity kind, std::uint32_t item, std::uint32_t micro_batch) const;

 private:
  std::uint32_t rank_;
  const ActionRow& row_;
  std::vector<Placed> placed_;  // by action
  std::vector<std::uint32_t> actions_;
  std::vector<GradientPass> passes_;
  std::map<std::uint32_t, std::uint32_t> first_forward_;
  std::optional<ProgramIndex> index_;
};

}  // namespace allreplay
