// Rows of actions written out as programs, layer by layer.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/pipeline/parallelism.hpp"
#include "sim/schedule/plan.hpp"

namespace allreplay {

/// Which works stand in the programs besides passes.
struct ProgramShape {
  bool update_by_layer = false;  ///< each layer's share before its first forward pass; else all at the start
  bool updates = false;          ///< there is anything to update, then
  bool marks = false;            ///< before the passes of which ticks are counted
  bool every_pass = false;       ///< all gradient passes are reduced; else a chunk's last one
};

/// Where an action stands in its rank's program.
struct Placed {
  std::uint32_t entry = 0;  ///< its first work, with updates of its layers
  std::uint32_t start = 0;  ///< its first pass, or the mark before it: what waits for activations
  std::uint32_t last = 0;
};

/// A gradient pass of a chunk.
struct GradientPass {
  std::uint32_t chunk = 0, micro_batch = 0;
  std::uint32_t number = 0;  ///< among its chunk's
  std::uint32_t action = 0;  ///< of the row
  Activity kind = Activity::Backward;
  bool last = false;  ///< of its chunk
};

class RankProgram {
 public:
  RankProgram(const Pipeline& pipeline, std::uint32_t rank, const Profile& profile, const ProgramShape& shape);

  std::vector<Work> works;

  std::uint32_t rank() const { return rank_; }
  const ActionRow& row() const { return row_; }
  /// Of a compute action.
  const Placed& at(std::size_t action) const { return placed_[action]; }
  /// Compute actions, in order.
  const std::vector<std::uint32_t>& actions() const { return actions_; }
  const std::vector<GradientPass>& passes() const { return passes_; }
  /// The action in which the chunk first runs forward.
  std::uint32_t first_forward(std::uint32_t chunk) const { return first_forward_.at(chunk); }
  std::uint32_t last_work() const { return static_cast<std::uint32_t>(works.size() - 1); }
  /// The last work of the compute action before a place in the row; none at its start.
  std::optional<std::uint32_t> end_before(std::size_t action) const;
  /// The first compute action behind a place in the row.
  std::optional<std::uint32_t> action_after(std::size_t action) const;

  PlanPoint point(std::size_t place) const { return work(place, rank_); }
  /// REQUIRES: it is there.
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
