#include <algorithm>
#include <deque>
#include <optional>

#include "sim/plans/schedule/plan_builder.hpp"
#include "sim/plans/schedule/planners.hpp"
#include "sim/plans/schedule/units.hpp"

namespace allreplay {

namespace {

class MegatronFsdp {
 public:
  explicit MegatronFsdp(const PlanRequest& request)
      : profile_(request.profile),
        options_(request.options.megatron_fsdp),
        build_("megatron-fsdp", sharded(request.options), profile_) {
    MemoryPolicy& memory = build_.plan().memory_policy;
    memory.parameter = memory.gradient = 4;  // fp32 shards, whatever is sent
    memory.units = units_of(profile_, request.options.fsdp.wrap);
    make_parts(beyond_blocks(profile_, memory.units, request.options.fsdp.wrap));
    lanes_ = build_.add_shard_lanes(request.options.fsdp.separate_lanes);
  }

  Plan make() {
    const auto micro_batches = static_cast<std::uint32_t>(sharding().accumulate);
    for (std::uint32_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
      const bool ends = options_.sync_every || micro_batch + 1 == micro_batches;
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        fetch(i, +1, micro_batch);
        pass(Activity::Forward, parts_[i], micro_batch);
      }
      for (std::size_t i = parts_.size(); i-- > 0;) {
        if (parts_[i].backward) fetch(i, -1, micro_batch);
        pass(Activity::Backward, parts_[i], micro_batch);
        while (i > 0 && pending_elements_ > unit_size_) wait_for_oldest();
        reduce(parts_[i], micro_batch, ends);
      }
      if (!ends) continue;
      while (!pending_.empty()) wait_for_oldest();
      build_.wait_for(among_groups_);
      among_groups_.clear();
    }
    keep();
    build_.compute({Activity::Update, everything});
    return build_.take();
  }

 private:
  // Layers that are gathered and reduced together.
  struct Part {
    Unit layers;
    std::int64_t elements = 0;
    bool freed = false;                      // after each pass; parts beyond the blocks never are
    bool backward = true;                    // its backward pass needs its parameters
    std::optional<std::uint32_t> gradients;  // the block that is reduced
    bool here = false;                       // gathered, or on its way
    std::optional<PlanPoint> coming;         // its gather, until the program waits for it
  };

  static ShardingConfig sharded(const StrategyOptions& options) {
    ShardingConfig sharding = options.sharding.at_stage(3);
    sharding.outer_optimizer = sharding.shard_group > 0 && options.megatron_fsdp.outer_optimizer;
    return sharding;
  }
  const ShardingConfig& sharding() const { return build_.plan().sharding; }
  bool groups() const { return sharding().shard_group > 0; }

  void make_parts(const std::vector<bool>& beyond) {
    const std::vector<Unit>& units = build_.plan().memory_policy.units;
    std::int64_t elements = 0, count = 0;  // of the units that are freed
    for (std::size_t i = 0; i < units.size(); ++i) {
      Part part{.layers = units[i],
                .freed = !beyond[i],
                .backward = profile_.needs_backward(units[i].first, units[i].last),
                .gradients = {},
                .coming = {}};
      Block block = block_of_layers(units[i], profile_);
      for (const Slice& slice : block.slices) part.elements += profile_.tensors[slice.tensor].elements;
      build_.add(std::move(block));
      if (part.freed) {
        elements += part.elements;
        ++count;
      }
      parts_.push_back(part);
    }
    for (std::uint32_t i = 0; i < parts_.size(); ++i) parts_[i].gradients = gradients_of(i, build_.plan(), profile_);
    unit_size_ = options_.unit_size > 0
                     ? options_.unit_size
                     : std::max<std::int64_t>(1'000'000'000, 2 * elements / std::max<std::int64_t>(count, 1));
  }

  // Gathers a part and the units that follow it in the direction of the pass: one, or while those gathered or on their
  // way have fewer than half of unit_size's elements.
  void fetch(std::size_t index, std::ptrdiff_t step, std::uint32_t micro_batch) {
    gather(static_cast<std::uint32_t>(index), micro_batch);
    std::int64_t beyond = 0;  // elements
    for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(index) + step; at >= 0 && at < std::ssize(parts_);
         at += step) {
      const Part& part = parts_[static_cast<std::size_t>(at)];
      if (!part.freed || (step < 0 && !part.backward)) continue;
      if (options_.double_buffer ? beyond > 0 : 2 * beyond >= unit_size_) return;
      gather(static_cast<std::uint32_t>(at), micro_batch);
      beyond += part.elements;
    }
  }

  // If groups share the optimizer, a shard is first gathered among them after each update. The source does so in both
  // passes.
  void gather(std::uint32_t index, std::uint32_t micro_batch) {
    Part& part = parts_[index];
    if (part.here) return;
    part.here = true;
    std::optional<PlanPoint> shard;
    if (sharding().outer_optimizer && micro_batch == 0 && part.gradients)
      shard = build_.issue(build_.gather(*part.gradients, lanes_.replicate, micro_batch, group_replica));
    part.coming = build_.issue(build_.gather(index, lanes_.gather, micro_batch));
    if (shard) build_.gate(*shard, *part.coming);
  }

  void pass(Activity kind, Part& part, std::uint32_t micro_batch) {
    if (part.coming) build_.wait_for(*part.coming);
    part.coming.reset();
    build_.pass(kind, part.layers, micro_batch);
    if (part.freed) part.here = false;
  }

  // Issues a reduction and, if the micro-batch ends an iteration, the one among the groups that follows it.
  void reduce(const Part& part, std::uint32_t micro_batch, bool ends) {
    if (!part.gradients) return;
    const auto reduction = [&](CollectiveOp op, DataParallelGroup group, std::uint32_t lane) {
      return build_.reduce(op, group, *part.gradients, lane, micro_batch);
    };
    const PlanPoint scattered = build_.issue(reduction(CollectiveOp::ReduceScatter, group_shard, lanes_.reduce));
    pending_.push_back({scattered, elements_of(build_.plan().blocks[*part.gradients], profile_)});
    pending_elements_ += pending_.back().elements;
    if (!groups() || !ends) return;
    const CollectiveOp op = sharding().outer_optimizer ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce;
    among_groups_.push_back(reduction(op, group_replica, lanes_.replicate));
    build_.gate(scattered, among_groups_.back());
  }

  // Keeps parts beyond the blocks until the update.
  void keep() {
    const WorkPoint last = std::get<WorkPoint>(build_.so_far());
    std::vector<Transfer>& transfers = build_.plan().transfers;
    for (Transfer& one : transfers)
      if (one.op == CollectiveOp::AllGather && one.group == group_shard && !parts_[one.payload.block].freed)
        one.held_until = last;
  }

  void wait_for_oldest() {
    build_.wait_for(pending_.front().transfer);
    pending_elements_ -= pending_.front().elements;
    pending_.pop_front();
  }

  struct Reduction {
    PlanPoint transfer;
    std::int64_t elements;
  };

  const Profile& profile_;
  const MegatronFsdpOptions& options_;
  PlanBuilder build_;
  std::vector<Part> parts_;  // in forward order; a block each
  std::int64_t unit_size_ = 0;
  PlanBuilder::ShardLanes lanes_;
  std::deque<Reduction> pending_;  // the program has not waited for these yet; the oldest first
  std::int64_t pending_elements_ = 0;
  std::vector<PlanPoint> among_groups_;
};

}  // namespace

Plan plan_megatron_fsdp(const PlanRequest& request) { return MegatronFsdp(request).make(); }

}  // namespace allreplay
