// Plans pipelines with FSDP2, as PyTorch's pipeline runtime drives it.
#include <algorithm>

#include <fmt/format.h>

#include "sim/plans/pipeline/pipeline_builder.hpp"
#include "sim/plans/schedule/experts.hpp"
#include "sim/plans/schedule/plan_builder.hpp"
#include "sim/plans/schedule/units.hpp"

namespace allreplay {

namespace {

class PipelinedFsdp : PipelineBuilder {
 public:
  explicit PipelinedFsdp(const PipelineRequest& request) : PipelineBuilder(request) {}

  Plan make() {
    plan_.sharding.zero = 3;
    plan_.memory_policy.parameter = plan_.memory_policy.gradient = 4;  // shards are fp32, whatever type is sent
    plan_.memory_policy.whole_gradients = true;
    begin({});
    std::vector<std::vector<std::uint32_t>> units(pipeline_.chunks.size());  // blocks, by chunk
    for (std::uint32_t chunk = 0; chunk < pipeline_.chunks.size(); ++chunk) units[chunk] = add_units(chunk);
    gradients_.resize(units.size());
    for (std::uint32_t chunk = 0; chunk < units.size(); ++chunk)
      for (const std::uint32_t block : units[chunk])
        if (const auto reduced = gradients_of(block, plan_, profile_)) gradients_[chunk].push_back(*reduced);
    const bool separate = options_.fsdp.separate_lanes;
    for (const RankProgram& rank : ranks_) {
      const std::uint32_t number = rank.rank();
      gather_lanes_.push_back(
          add_lane(fmt::format("{} {}", separate ? "gather" : "gather and reduce", number), as_listed()));
      reduce_lanes_.push_back(separate ? add_lane(fmt::format("reduce {}", number), as_listed())
                                       : gather_lanes_.back());
    }
    add_sends();
    for (const RankProgram& rank : ranks_) drive_units(rank, units);
    return finish(true);
  }

 private:
  // Returns the rank's row. If no row contains UNSHARD, all chunks are unsharded at its start; if none contains
  // REDUCE_GRAD, each chunk is reduced after its last gradient pass.
  ActionRow with_parameter_words(const RankProgram& rank) const {
    const ActionRow& row = rank.row();
    const bool unshards = has(pipeline_.rows, Activity::Unshard), reduces = has(pipeline_.rows, Activity::ReduceGrad);
    ActionRow complete;
    if (!unshards)
      for (const Action& one : row)
        if (is_pass(one.kind) && std::none_of(complete.begin(), complete.end(),
                                              [&](const Action& other) { return other.chunk == one.chunk; }))
          complete.push_back({Activity::Unshard, one.chunk});
    for (std::uint32_t i = 0; i < row.size(); ++i) {
      complete.push_back(row[i]);
      const auto last = std::find_if(rank.passes().begin(), rank.passes().end(),
                                     [&](const GradientPass& pass) { return pass.action == i && pass.last; });
      if (!reduces && last != rank.passes().end()) complete.push_back({Activity::ReduceGrad, row[i].chunk});
    }
    return complete;
  }

  std::vector<std::uint32_t> add_units(std::uint32_t chunk) {
    const Chunk& layers = pipeline_.chunks[chunk];
    const Profile part = profile_of_chunk(profile_, layers, std::vector<Time>(profile_.layers.size()));
    std::vector<std::uint32_t> blocks;
    std::vector<Unit> units = units_of_part(part, profile_, options_.fsdp.wrap);
    if (has_expert_groups()) units = cut_at_experts(units, part);
    for (const Unit& unit : units) {
      Block block = block_of_layers({layers.first + unit.first, layers.first + unit.last}, profile_);
      unit_of_block_.resize(plan_.blocks.size() + 1);
      unit_of_block_.back() = {layers.first + unit.first, layers.first + unit.last};
      plan_.memory_policy.units.push_back(unit_of_block_.back());
      if (block.slices.empty()) continue;
      blocks.push_back(static_cast<std::uint32_t>(plan_.blocks.size()));
      plan_.blocks.push_back(std::move(block));
    }
    return blocks;
  }

  // Adds the gathers and reductions that the words between a row's compute actions issue.
  void drive_units(const RankProgram& rank, const std::vector<std::vector<std::uint32_t>>& units) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> gathered;  // by chunk: gathers that no action waits for yet
    std::map<std::uint32_t, std::vector<std::uint32_t>> held;  // by chunk: gathers whose parameters are not freed yet
    std::vector<std::uint32_t> awaited;                        // reductions that the next action waits for
    std::uint32_t end = 0;                                     // the last work so far; at first the update
    std::size_t next = 0;                                      // index into the rank's actions
    const bool explicit_unshards = has(pipeline_.rows, Activity::Unshard);
    const auto free = [&](std::uint32_t chunk, std::uint32_t place) {
      for (const std::uint32_t one : held[chunk]) plan_.transfers[one].held_until = WorkPoint{place, rank.rank()};
      held.erase(chunk);
    };
    for (const Action& one : with_parameter_words(rank)) {
      if (one.kind == Activity::Unshard) {
        for (const std::uint32_t block : units[one.chunk]) {
          const std::uint32_t gather = add_gather(rank, block, gather_lanes_[rank.rank()]);
          gate(rank.point(end), transfer(gather));
          if (const WorkPair* pair = rank.pair_of(end)) gate(rank.point(pair->backward - 1), transfer(gather));
          gathered[one.chunk].push_back(gather);
          held[one.chunk].push_back(gather);
        }
      } else if (one.kind == Activity::ReduceGrad) {
        for (const std::uint32_t block : gradients_[one.chunk]) {
          Transfer reduction{.op = CollectiveOp::ReduceScatter,
                             .payload = {Payload::Kind::Gradients, block},
                             .lane = reduce_lanes_[rank.rank()],
                             .micro_batch = static_cast<std::uint32_t>(pipeline_.index.micro_batches - 1)};
          const std::uint32_t reduced = add_reduction(rank.rank(), reduction);
          gate_after_action(rank, end, transfer(reduced));
          if (request_.parallel.reduce_grad_waits) awaited.push_back(reduced);
        }
      } else if (one.kind == Activity::Reshard) {
        free(one.chunk, end);
      } else if (is_pass(one.kind)) {
        const Placed& placed = rank.at(rank.actions()[next++]);
        for (const std::uint32_t reduced : awaited) {
          gate(transfer(reduced), rank.point(placed.entry));
          if (const WorkPair* pair = rank.pair_of(placed.entry); pair && pair->forward == placed.entry)
            gate(transfer(reduced), rank.point(pair->backward));  // both start after the action before
        }
        awaited.clear();
        const Activity kind = rank.works[placed.last].kind;
        for (const std::uint32_t gather : gathered[one.chunk]) {
          const Unit& unit = unit_of_block_[plan_.transfers[gather].payload.block];
          const LayerId layer = kind == Activity::Forward ? unit.first : unit.last;
          gate(transfer(gather), rank.point(rank.place(kind, layer, one.micro_batch)));
        }
        gathered[one.chunk].clear();
        end = placed.last;
        const GradientPass* last = last_pass(rank, one.chunk);
        if (!explicit_unshards && &placed == &rank.at(last->action)) free(one.chunk, end);
      }
    }
    for (auto chunks = pipeline_.chunks_of(rank.rank()); const std::uint32_t chunk : chunks)
      free(chunk, rank.last_work());
  }

  static const GradientPass* last_pass(const RankProgram& rank, std::uint32_t chunk) {
    return &*std::find_if(rank.passes().begin(), rank.passes().end(),
                          [&](const GradientPass& pass) { return pass.chunk == chunk && pass.last; });
  }

  std::vector<Unit> unit_of_block_;
  std::vector<std::vector<std::uint32_t>> gradients_;  // by chunk: the blocks that are reduced
};

}  // namespace

Plan pipelined_fsdp(const PipelineRequest& request) { return PipelinedFsdp(request).make(); }

}  // namespace allreplay
