// PyTorch's FullyShardedDataParallel (fsdp1) and fully_shard (fsdp2). All precedences are in docs/sharding.md.
#include <algorithm>
#include <optional>

#include "sim/plans/schedule/experts.hpp"
#include "sim/plans/schedule/plan_builder.hpp"
#include "sim/plans/schedule/planners.hpp"
#include "sim/plans/schedule/units.hpp"

namespace allreplay {

namespace {

// The parts that FSDP1 and FSDP2 share.
class Fsdp {
 public:
  // `root`: by unit, true if it is part of the root. `flat`: a unit is one flat parameter, so that frozen tensors in a
  // unit with trained ones have gradients, too.
  Fsdp(std::string_view name, const PlanRequest& request, Reshard default_value, std::vector<Unit> units,
       const std::vector<bool>& root, bool flat)
      : request_(request),
        options_(request.options.fsdp),
        units_(std::move(units)),
        freed_(units_.size()),
        build_(name, request.options.sharding.at_stage(3), request.profile),
        lanes_(build_.add_shard_lanes(!flat && options_.separate_lanes)) {
    for (std::uint32_t unit = 0; unit < count(); ++unit)
      if (root[unit]) root_.push_back(unit);
    if (!root_.empty()) add_block(root_);
    block_.assign(count(), 0);
    for (std::uint32_t unit = 0; unit < count(); ++unit)
      if (!root[unit]) block_[unit] = add_block({unit});
    set_gradients(flat);
    // FSDP1 keeps its root, and has no rule for the last unit.
    const Reshard reshard = options_.reshard.value_or(default_value);
    for (std::uint32_t unit = count(); unit-- > 0;) {
      freed_[unit] = flat ? reshard == Reshard::All && !root[unit]
                          : reshard == Reshard::All || (reshard == Reshard::ButLast && unit + 1 < count());
      if (is_gathered_again(unit))
        again_.push_back(unit);
      else if (!freed_[unit] && !needs_backward(unit))
        kept_.push_back(unit);
    }
    build_.plan().memory_policy.units = units_;
    if (root_.size() > 1) build_.plan().memory_policy.root = root_;
    build_.plan().memory_policy.parameter = build_.plan().memory_policy.gradient = 4;  // fp32 shards, whatever is sent
  }

 protected:
  // Adds a block of the tensors of these units.
  std::uint32_t add_block(const std::vector<std::uint32_t>& units) {
    Block block;
    for (const std::uint32_t unit : units)
      for (const Slice& slice : block_of_layers(units_[unit], request_.profile).slices) block.slices.push_back(slice);
    return build_.add(std::move(block));
  }

  // Makes the blocks that are reduced.
  void set_gradients(bool flat) {
    const Profile& profile = request_.profile;
    const auto blocks = static_cast<std::uint32_t>(build_.plan().blocks.size());
    for (std::uint32_t block = 0; block < blocks; ++block) {
      gradients_.push_back(gradients_of(block, build_.plan(), profile));
      if (!flat || !gradients_[block] || gradients_[block] == block) continue;
      build_.plan().blocks.pop_back();
      gradients_[block] = block;
    }
  }

  bool needs_backward(std::uint32_t unit) const {
    return request_.profile.needs_backward(units_[unit].first, units_[unit].last);
  }
  bool is_gathered_again(std::uint32_t unit) const { return freed_[unit] && needs_backward(unit); }

  // The block that is reduced after the unit's backward pass, if it has gradients.
  const std::optional<std::uint32_t>& gradients(std::uint32_t unit) const { return gradients_[block_[unit]]; }

  std::uint32_t count() const { return static_cast<std::uint32_t>(units_.size()); }
  std::uint32_t micro_batches() const { return static_cast<std::uint32_t>(request_.options.sharding.accumulate); }
  bool groups() const { return request_.options.sharding.shard_group > 0; }

  ProgramRange pass(Activity kind, std::uint32_t unit, std::uint32_t micro_batch) {
    return build_.pass(kind, units_[unit], micro_batch);
  }

  DataParallelGroup group_of(std::uint32_t unit) const {
    const bool experts = request_.options.sharding.has_expert_groups() &&
                         is_of_experts(build_.plan().blocks[block_[unit]], request_.profile);
    return experts ? group_expert : group_shard;
  }

  PlanPoint gather(std::uint32_t unit, std::uint32_t lane, std::uint32_t micro_batch) {
    return build_.gather(block_[unit], lane, micro_batch, group_of(unit));
  }
  // Adds the unit's reduce-scatter and, if there are groups and `sums`, the all-reduce of its shard among them.
  // REQUIRES: it has gradients.
  PlanPoint reduce(std::uint32_t unit, std::uint32_t lane, std::uint32_t micro_batch, bool sums = true) {
    const PlanPoint scattered =
        build_.reduce(CollectiveOp::ReduceScatter, group_of(unit), *gradients(unit), lane, micro_batch);
    reductions_.push_back(scattered);
    if (!groups() || !sums) return scattered;
    const PlanPoint summed = build_.sum_shards(*gradients(unit), lanes_.replicate, micro_batch);
    build_.gate(scattered, summed);
    reductions_.push_back(summed);
    return scattered;
  }

  // Makes the first gathers of the next micro-batch wait for everything in this one.
  void end_micro_batch() {
    keep();
    boundary_ = reductions_;
    boundary_.push_back(build_.so_far());
    reductions_.clear();
  }

  // A unit that is not freed after its forward pass is kept to the end, even if no backward pass reads it.
  void keep() {
    std::vector<Transfer>& transfers = build_.plan().transfers;
    for (; ended_ < transfers.size(); ++ended_)
      for (const std::uint32_t unit : kept_)
        if (transfers[ended_].payload == Payload{Payload::Kind::Parameters, block_[unit]})
          transfers[ended_].held_until = std::get<WorkPoint>(build_.so_far());
  }

  Plan finish() {
    const PlanPoint update = work(build_.add(Work{Activity::Update, everything}));
    // The reductions of earlier micro-batches have ended before the last one's first gathers.
    build_.gate(std::span(boundary_).first(boundary_.size() - 1), update);
    return build_.take();
  }

  const PlanRequest& request_;
  const FsdpOptions& options_;
  std::vector<Unit> units_;
  std::vector<std::uint32_t> root_;                      // indices of the units of the root, in forward order
  std::vector<std::uint32_t> block_;                     // by unit
  std::vector<std::optional<std::uint32_t>> gradients_;  // by block of parameters
  std::vector<bool> freed_;                              // by unit: after its forward pass
  std::vector<std::uint32_t> again_;                     // units that are gathered again, in backward order
  PlanBuilder build_;
  PlanBuilder::ShardLanes lanes_;
  std::vector<std::uint32_t> kept_;                      // units that are not freed, and have no backward pass
  std::size_t ended_ = 0;                                // transfers of earlier micro-batches
  std::vector<PlanPoint> reductions_;                    // of this micro-batch
  std::vector<PlanPoint> boundary_{start_of_program()};  // the first gathers of a micro-batch wait for these
};

class Fsdp2 : Fsdp {
 public:
  explicit Fsdp2(const PlanRequest& request) : Fsdp2(request, units_of_kinds(request)) {}

  Plan make() {
    if (const double rate = options_.copy.value_or(options_.copy_of_device); rate > 0) build_.plan().copy_rate = rate;
    build_.plan().memory_policy.whole_gradients = options_.reduce == Reduce::Last && micro_batches() > 1;
    for (std::uint32_t micro_batch = 0; micro_batch < micro_batches(); ++micro_batch) {
      forward(micro_batch);
      backward(micro_batch);
      end_micro_batch();
    }
    return finish();
  }

 private:
  Fsdp2(const PlanRequest& request, const std::vector<Unit>& units)
      : Fsdp("fsdp2", request, Reshard::ButLast, units, std::vector<bool>(units.size(), false), false) {}

  // A unit of experts is sharded among other workers than one of other tensors.
  static std::vector<Unit> units_of_kinds(const PlanRequest& request) {
    const std::vector<Unit> units = units_of(request.profile, request.options.fsdp.wrap);
    return request.options.sharding.has_expert_groups() ? cut_at_experts(units, request.profile) : units;
  }

  void forward(std::uint32_t micro_batch) {
    std::vector<PlanPoint> copied;
    for (std::uint32_t unit = 0; unit < count(); ++unit) {
      const PlanPoint arrived = gather(unit, lanes_.gather, micro_batch);
      if (unit > options_.prefetch)
        build_.gate(copied[unit - static_cast<std::size_t>(options_.prefetch) - 1], arrived);
      else
        build_.gate(boundary_, arrived);
      copied.push_back(work(build_.add(Work{Activity::CopyOut, unit, micro_batch})));
      build_.gate(arrived, copied.back());
      pass(Activity::Forward, unit, micro_batch);
    }
    last_copy_ = copied.back();
  }

  // Issues the gather of the next freed unit in backward order, `prefetch` units ahead.
  void issue(std::uint32_t micro_batch) {
    if (next_ == again_.size()) return;
    const PlanPoint arrived = gather(again_[next_], lanes_.gather, micro_batch);
    const auto ahead = static_cast<std::size_t>(options_.prefetch);
    waiting_.push_back({next_ < ahead ? std::optional<std::uint32_t>() : again_[next_ - ahead], arrived});
    arrived_[again_[next_++]] = arrived;
  }

  void backward(std::uint32_t micro_batch) {
    const bool last = micro_batch + 1 == micro_batches();
    const bool reducing = last || options_.reduce != Reduce::Last, sums = last || options_.reduce == Reduce::Every;
    next_ = 0;
    waiting_.clear();
    arrived_.assign(count(), std::nullopt);
    std::vector<std::optional<PlanPoint>> copied(count());
    std::vector<PlanPoint> reduced;
    for (std::int64_t i = 0; i < options_.prefetch; ++i) issue(micro_batch);
    for (std::uint32_t unit = count(); unit-- > 0;) {
      if (is_gathered_again(unit)) {
        copied[unit] = work(build_.add(Work{Activity::CopyOutAgain, unit, micro_batch}));
        build_.gate(*arrived_[unit], *copied[unit]);
        issue(micro_batch);
      }
      pass(Activity::Backward, unit, micro_batch);
      if (!reducing || !gradients(unit)) continue;
      const PlanPoint copy = work(build_.add(Work{Activity::CopyIn, *gradients(unit), micro_batch}));
      const auto behind = static_cast<std::size_t>(options_.reduce_buffers);
      if (reduced.size() >= behind) build_.gate(reduced[reduced.size() - behind], copy);
      reduced.push_back(reduce(unit, lanes_.reduce, micro_batch, sums));
      build_.gate(copy, reduced.back());
    }
    for (const auto& [unit, arrived] : waiting_) build_.gate(unit ? *copied[*unit] : last_copy_, arrived);
  }

  PlanPoint last_copy_;
  std::size_t next_ = 0;                           // index into again_ of the next gather
  std::vector<std::optional<PlanPoint>> arrived_;  // by unit
  // Gathers, each with the unit whose copy it waits for; none: the last copy of the forward pass.
  std::vector<std::pair<std::optional<std::uint32_t>, PlanPoint>> waiting_;
};

class Fsdp1 : Fsdp {
 public:
  Fsdp1(std::string_view name, const PlanRequest& request)
      : Fsdp1(name, request, units_of(request.profile, request.options.fsdp.wrap)) {}

  Plan make() {
    for (std::uint32_t micro_batch = 0; micro_batch < micro_batches(); ++micro_batch) {
      forward(micro_batch);
      backward(micro_batch);
      end_micro_batch();
    }
    return finish();
  }

 private:
  Fsdp1(std::string_view name, const PlanRequest& request, const std::vector<Unit>& units)
      : Fsdp(name, request, Reshard::All, units, root_layers(request.profile, units, request.options.fsdp.wrap), true) {
  }

  bool is_root(std::uint32_t unit) const { return std::find(root_.begin(), root_.end(), unit) != root_.end(); }

  // The root's gather comes first and does not count towards the limit.
  void forward(std::uint32_t micro_batch) {
    std::vector<PlanPoint> passes;  // last passes of the units that are freed
    std::optional<PlanPoint> root;
    if (!root_.empty()) {
      root = gather(root_.front(), lanes_.gather, micro_batch);
      build_.gate(boundary_, *root);
    }
    const auto limit = static_cast<std::size_t>(options_.limit);
    for (std::uint32_t unit = 0; unit < count(); ++unit) {
      const PlanPoint arrived = is_root(unit) ? *root : gather(unit, lanes_.gather, micro_batch);
      if (freed_[unit] && passes.size() >= limit)
        build_.gate(passes[passes.size() - limit], arrived);
      else if (!is_root(unit))
        build_.gate(boundary_, arrived);
      const ProgramRange range = pass(Activity::Forward, unit, micro_batch);
      if (freed_[unit]) passes.push_back(work(range.last));
      build_.gate(arrived, work(range.first));
    }
  }

  // Gathers the next freed unit in backward order, if there is one, after `after` has ended.
  void fetch(const PlanPoint& after, std::uint32_t micro_batch) {
    if (arrived_.size() == again_.size()) return;
    arrived_.push_back(gather(again_[arrived_.size()], lanes_.gather, micro_batch));
    build_.gate(after, arrived_.back());
  }

  void backward(std::uint32_t micro_batch) {
    const BackwardPrefetch mode = options_.backward_prefetch;
    arrived_.clear();
    std::size_t used = 0;  // number of gathers in arrived_ that a pass waits for
    // The root's backward pass begins before all others, wherever its layers are.
    if (mode == BackwardPrefetch::Pre && !root_.empty()) fetch(build_.so_far(), micro_batch);
    for (std::uint32_t unit = count(); unit-- > 0;) {
      const PlanPoint before = build_.so_far();
      if (is_gathered_again(unit) && used == arrived_.size()) fetch(before, micro_batch);
      const ProgramRange range = pass(Activity::Backward, unit, micro_batch);
      if (is_gathered_again(unit)) build_.gate(arrived_[used++], work(range.first));
      if (is_root(unit) && unit != root_.front()) continue;  // the root has layers whose pass comes later
      const PlanPoint end = work(range.last);
      if (mode == BackwardPrefetch::Pre && !is_root(unit)) fetch(before, micro_batch);
      if (mode == BackwardPrefetch::Post) fetch(end, micro_batch);
      if (gradients(unit)) build_.gate(end, reduce(unit, lanes_.gather, micro_batch));
    }
  }

  std::vector<PlanPoint> arrived_;  // gathers of the first units of again_, in this micro-batch
};

}  // namespace

Plan plan_fsdp2(const PlanRequest& request) { return Fsdp2(request).make(); }
Plan plan_fsdp1(const PlanRequest& request) { return Fsdp1("fsdp1", request).make(); }

Plan plan_composer(const PlanRequest& request) {
  StrategyOptions options = request.options;
  options.fsdp.backward_prefetch = BackwardPrefetch::Post;
  return Fsdp1("composer", {request.profile, request.cost, options, request.splits, request.workers}).make();
}

}  // namespace allreplay
