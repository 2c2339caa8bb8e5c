#include <optional>

#include "sim/plans/schedule/plan_builder.hpp"
#include "sim/plans/schedule/planners.hpp"
#include "sim/plans/schedule/units.hpp"

namespace allreplay {

namespace {

class SimpleFsdp {
 public:
  explicit SimpleFsdp(const PlanRequest& request)
      : profile_(request.profile),
        options_(request.options),
        reorders_(options_.fsdp.reorder),
        build_("simple-fsdp", options_.sharding.at_stage(3), profile_) {
    MemoryPolicy& memory = build_.plan().memory_policy;
    memory.parameter = memory.gradient = 4;  // fp32 shards, whatever is sent
    make_parts();
    lanes_ = build_.add_shard_lanes(options_.fsdp.separate_lanes);
  }

  Plan make() {
    for (std::uint32_t micro_batch = 0; micro_batch < options_.sharding.accumulate; ++micro_batch) {
      forward(micro_batch);
      backward(micro_batch);
      build_.wait_for(reductions_);
      reductions_.clear();
    }
    build_.compute({Activity::Update, everything});
    return build_.take();
  }

 private:
  // Layers that are gathered and reduced in turn: a bucket of the compiler, or, without reordering, a single layer,
  // whose tensors are sent one by one.
  struct Part {
    Unit layers;
    std::vector<std::uint32_t> blocks;
    bool freed = false;                         // between its passes
    bool backward = true;                       // its backward pass needs its parameters
    std::vector<std::uint32_t> gradients = {};  // blocks that are reduced
  };

  bool groups() const { return options_.sharding.shard_group > 0; }

  void make_parts() {
    const std::vector<Unit> units = units_of(profile_, options_.fsdp.wrap);
    if (reorders_) build_.plan().memory_policy.units = units;
    const Reshard reshard = options_.fsdp.reshard.value_or(Reshard::ButLast);
    for (const Unit& unit : units) {
      const bool last = unit == units.back();
      const bool freed = reshard == Reshard::All || (reshard == Reshard::ButLast && !last);
      if (reorders_) {
        parts_.push_back({unit, {}, freed});
        parts_.back().blocks.push_back(build_.add(block_of_layers(unit, profile_)));
        continue;
      }
      for (LayerId layer = unit.first; layer <= unit.last; ++layer) {
        parts_.push_back({{layer, layer}, {}, freed});
        for (const Slice& slice : block_of_layers({layer, layer}, profile_).slices)
          parts_.back().blocks.push_back(build_.add(Block{{slice}}));
      }
    }
    for (Part& part : parts_) {
      part.backward = profile_.needs_backward(part.layers.first, part.layers.last);
      for (const std::uint32_t block : part.blocks)
        if (const auto gradients = gradients_of(block, build_.plan(), profile_)) part.gradients.push_back(*gradients);
    }
  }

  static bool is_gathered_again(const Part& part) { return part.freed && part.backward; }

  // Issues the gather of a bucket.
  PlanPoint gather(std::size_t part, std::uint32_t micro_batch) {
    return build_.issue(build_.gather(parts_[part].blocks.front(), lanes_.gather, micro_batch));
  }

  PlanPoint reduce(std::uint32_t block, std::uint32_t micro_batch) {
    const PlanPoint scattered =
        build_.issue(build_.reduce(CollectiveOp::ReduceScatter, group_shard, block, lanes_.reduce, micro_batch));
    reductions_.push_back(scattered);
    if (!groups()) return scattered;
    reductions_.push_back(build_.sum_shards(block, lanes_.replicate, micro_batch));
    build_.gate(scattered, reductions_.back());
    return scattered;
  }

  // Without reordering, each collective is waited for where it stands in the graph.
  void gather_in_turn(const Part& part, std::uint32_t micro_batch) {
    for (const std::uint32_t block : part.blocks)
      build_.wait_for(build_.issue(build_.gather(block, lanes_.gather, micro_batch)));
  }
  void reduce_in_turn(const Part& part, std::uint32_t micro_batch) {
    for (std::size_t i = part.gradients.size(); i-- > 0;) {
      reduce(part.gradients[i], micro_batch);
      build_.wait_for(reductions_);
      reductions_.clear();
    }
  }

  // A bucket's gather is moved to before the wait for the previous one.
  void forward(std::uint32_t micro_batch) {
    std::optional<PlanPoint> next;
    if (reorders_) next = gather(0, micro_batch);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::optional<PlanPoint> arrived = next;
      if (reorders_ && i + 1 < parts_.size()) next = gather(i + 1, micro_batch);
      if (arrived)
        build_.wait_for(*arrived);
      else
        gather_in_turn(parts_[i], micro_batch);
      build_.pass(Activity::Forward, parts_[i].layers, micro_batch);
    }
  }

  // Gathers are moved as in the forward pass. The wait for a bucket's reduction is moved until the next bucket's
  // reduction has been issued.
  void backward(std::uint32_t micro_batch) {
    const std::size_t count = parts_.size();
    std::vector<std::optional<PlanPoint>> arrived(count), reduced(count + 2);
    if (reorders_ && is_gathered_again(parts_.back())) arrived.back() = gather(count - 1, micro_batch);
    for (std::size_t i = count; i-- > 0;) {
      const Part& part = parts_[i];
      if (reduced[i + 2]) build_.wait_for(*reduced[i + 2]);
      if (reorders_ && i > 0 && is_gathered_again(parts_[i - 1])) arrived[i - 1] = gather(i - 1, micro_batch);
      if (arrived[i])
        build_.wait_for(*arrived[i]);
      else if (!reorders_ && is_gathered_again(part))
        gather_in_turn(part, micro_batch);
      build_.pass(Activity::Backward, part.layers, micro_batch);
      if (!reorders_)
        reduce_in_turn(part, micro_batch);
      else if (!part.gradients.empty())
        reduced[i] = reduce(part.gradients.front(), micro_batch);
    }
  }

  const Profile& profile_;
  const StrategyOptions& options_;
  bool reorders_;
  PlanBuilder build_;
  std::vector<Part> parts_;  // in forward order
  PlanBuilder::ShardLanes lanes_;
  std::vector<PlanPoint> reductions_;  // the next micro-batch, or the update, waits for these
};

}  // namespace

Plan plan_simple_fsdp(const PlanRequest& request) { return SimpleFsdp(request).make(); }

}  // namespace allreplay
