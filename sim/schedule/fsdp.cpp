#include "sim/schedule/fsdp.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "sim/schedule/plan_builder.hpp"

namespace allreplay {

bool has_groups(const Profile& profile) {
  return std::any_of(profile.layers.begin(), profile.layers.end(), [](const Layer& one) { return !one.group.empty(); });
}

std::vector<bool> begins_of_groups(const Profile& profile) {
  std::vector<bool> begins(profile.layers.size(), false);
  std::set<std::string> seen;
  std::string current;
  for (std::size_t layer = 0; layer < begins.size(); ++layer) {
    const std::string& group = profile.layers[layer].group;
    if (group.empty() || group == current) continue;
    if (!seen.insert(group).second)
      throw InputError({profile.name, fmt::format("/layers/{}/group", layer)},
                       fmt::format("the layers of group '{}' are not consecutive: '{}' comes after '{}'", group,
                                   profile.layers[layer].name, current),
                       "consecutive layers for each name, or wrap=layer");
    current = group;
    begins[layer] = seen.size() > 1;  // those before the first name join its unit
  }
  return begins;
}

namespace {

// Whether each layer begins a unit of its own, before units without tensors are joined.
std::vector<bool> by_size(const Profile& profile, const std::vector<Bytes>& bytes, Bytes size) {
  std::vector<bool> begins(profile.layers.size(), false);
  double sum = 0;
  for (std::size_t layer = 0; layer < begins.size(); ++layer) {
    if (sum >= static_cast<double>(size) && bytes[layer] > 0) {
      begins[layer] = true;
      sum = 0;
    }
    sum += static_cast<double>(bytes[layer]) * profile.parameter_share();
  }
  return begins;
}

}  // namespace

std::vector<Unit> units_of(const Profile& profile, const Wrap& wrap) { return units_of_part(profile, profile, wrap); }

std::vector<Unit> units_of_part(const Profile& part, const Profile& model, const Wrap& wrap) {
  std::vector<Bytes> bytes(part.layers.size(), 0);
  for (const Tensor& tensor : part.tensors) bytes[tensor.layer] += tensor.bytes;
  std::vector<bool> begins(part.layers.size(), true);
  if (wrap.by == Wrap::By::Given) {
    begins.assign(begins.size(), false);
    for (const std::uint32_t layer : wrap.begins) begins[layer] = true;
  } else if (wrap.by == Wrap::By::Size)
    begins = by_size(part, bytes, wrap.size);
  else if (has_groups(model) && wrap.by != Wrap::By::Layer)
    begins = begins_of_groups(part);
  else if (wrap.by == Wrap::By::Group)
    throw InputError(wrap.place, fmt::format("the layers of '{}' have no groups", model.name),
                     "wrap=layer, wrap=SIZE, or \"group\" in the profile's layers");
  std::vector<bool> tensors(begins.size());  // by layer: whether any come up to the next beginning
  for (std::size_t layer = begins.size(); layer-- > 0;)
    tensors[layer] = bytes[layer] > 0 || (layer + 1 < begins.size() && !begins[layer + 1] && tensors[layer + 1]);
  std::vector<Unit> units;
  bool full = false;  // whether the last unit has tensors
  for (LayerId layer = 0; layer < begins.size(); ++layer) {
    // What has no tensors up to the next beginning joins the one before, or the first.
    if (units.empty() || (begins[layer] && full && tensors[layer])) {
      units.push_back({layer, layer});
      full = false;
    }
    units.back().last = layer;
    full = full || bytes[layer] > 0;
  }
  return units;
}

namespace {

// What both of them do.
class Fsdp {
 public:
  Fsdp(std::string_view name, const PlanRequest& request, Reshard default_value)
      : request_(request),
        options_(request.options.fsdp),
        units_(units_of(request.profile, options_.wrap)),
        reshard_(options_.reshard.value_or(default_value)),
        build_(name, sharded(request.options.sharding), request.profile) {
    for (const Unit& unit : units_) {
      Block block;
      for (LayerId layer = unit.first; layer <= unit.last; ++layer)
        for (const Slice& slice : block_of_layer(layer, request.profile).slices) block.slices.push_back(slice);
      build_.add(std::move(block));
    }
    build_.plan().memory_policy.units = units_;
    build_.plan().memory_policy.parameter = build_.plan().memory_policy.gradient = 4;  // fp32 shards, whatever travels
  }

 protected:
  static ShardingConfig sharded(ShardingConfig sharding) {
    sharding.zero = 3;
    return sharding;
  }

  std::uint32_t count() const { return static_cast<std::uint32_t>(units_.size()); }
  bool freed(std::uint32_t unit) const {
    return reshard_ == Reshard::All || (reshard_ == Reshard::ButLast && unit + 1 < count());
  }
  std::uint32_t micro_batches() const { return static_cast<std::uint32_t>(request_.options.sharding.accumulate); }
  bool groups() const { return request_.options.sharding.shard_group > 0; }

  ProgramRange pass(WorkKind kind, std::uint32_t unit, std::uint32_t micro_batch) {
    const Unit& layers = units_[unit];
    ProgramRange range;
    for (LayerId i = layers.first; i <= layers.last; ++i) {
      const LayerId layer = kind == WorkKind::Forward ? i : layers.last - (i - layers.first);
      range.last = build_.add(Work{kind, layer, micro_batch});
      if (i == layers.first) range.first = range.last;
    }
    return range;
  }

  PlanPoint gather(std::uint32_t unit, std::uint32_t lane, std::uint32_t micro_batch) {
    return build_.gather(unit, lane, micro_batch);
  }
  // Adds the unit's reduce-scatter and, if there are groups and `sums`, the all-reduce of its shard among them.
  PlanPoint reduce(std::uint32_t unit, std::uint32_t lane, std::uint32_t micro_batch, bool sums = true) {
    const PlanPoint scattered = build_.reduce(CollectiveOp::ReduceScatter, group_shard, unit, lane, micro_batch);
    reductions_.push_back(scattered);
    if (!groups() || !sums) return scattered;
    const PlanPoint summed = build_.sum_shards(unit, replicate_, micro_batch);
    build_.gate(scattered, summed);
    reductions_.push_back(summed);
    return scattered;
  }

  // What the first gathers of a micro-batch wait for: the start, or all of the one before.
  void end_micro_batch() {
    boundary_ = reductions_;
    boundary_.push_back(build_.so_far());
    reductions_.clear();
  }

  Plan finish() {
    const PlanPoint update = work(build_.add(Work{WorkKind::Update, everything}));
    // What earlier micro-batches reduced has ended before the last one's first gathers.
    build_.gate(std::span(boundary_).first(boundary_.size() - 1), update);
    return build_.take();
  }

  const PlanRequest& request_;
  const FsdpOptions& options_;
  std::vector<Unit> units_;
  Reshard reshard_;
  PlanBuilder build_;
  std::uint32_t replicate_ = 0;
  std::vector<PlanPoint> reductions_;  // of this micro-batch
  std::vector<PlanPoint> boundary_{start_of_program()};
};

class Fsdp2 : Fsdp {
 public:
  explicit Fsdp2(const PlanRequest& request) : Fsdp("fsdp2", request, Reshard::ButLast) {}

  Plan make() {
    gathers_ = build_.add_lane(options_.separate_lanes ? "gather" : "gather and reduce");
    reduces_ = options_.separate_lanes ? build_.add_lane("reduce") : gathers_;
    if (groups()) replicate_ = build_.add_lane("replicate");
    build_.plan().copy_rate = options_.copy;
    build_.plan().memory_policy.whole_gradients = options_.reduce == Reduce::Last && micro_batches() > 1;
    for (std::uint32_t micro_batch = 0; micro_batch < micro_batches(); ++micro_batch) {
      forward(micro_batch);
      backward(micro_batch);
      end_micro_batch();
    }
    return finish();
  }

 private:
  void forward(std::uint32_t micro_batch) {
    std::vector<PlanPoint> copied;
    for (std::uint32_t unit = 0; unit < count(); ++unit) {
      const PlanPoint arrived = gather(unit, gathers_, micro_batch);
      if (unit > options_.prefetch)
        build_.gate(copied[unit - static_cast<std::size_t>(options_.prefetch) - 1], arrived);
      else
        build_.gate(boundary_, arrived);
      copied.push_back(work(build_.add(Work{WorkKind::CopyOut, unit, micro_batch})));
      build_.gate(arrived, copied.back());
      pass(WorkKind::Forward, unit, micro_batch);
    }
    last_copy_ = copied.back();
  }

  // The gathers of freed units, in backward order, as they are issued: some ahead of those that wait for them.
  void issue(std::uint32_t micro_batch) {
    if (next_ == freed_.size()) return;
    const PlanPoint arrived = gather(freed_[next_], gathers_, micro_batch);
    const auto ahead = static_cast<std::size_t>(options_.prefetch);
    waiting_.push_back({next_ < ahead ? std::optional<std::uint32_t>() : freed_[next_ - ahead], arrived});
    arrived_[freed_[next_++]] = arrived;
  }

  void backward(std::uint32_t micro_batch) {
    const bool last = micro_batch + 1 == micro_batches();
    const bool reducing = last || options_.reduce != Reduce::Last, sums = last || options_.reduce == Reduce::Every;
    freed_.clear();
    for (std::uint32_t unit = count(); unit-- > 0;)
      if (freed(unit)) freed_.push_back(unit);
    next_ = 0;
    waiting_.clear();
    arrived_.assign(count(), std::nullopt);
    std::vector<std::optional<PlanPoint>> copied(count()), reduced(count());
    for (std::int64_t i = 0; i < options_.prefetch; ++i) issue(micro_batch);
    for (std::uint32_t unit = count(); unit-- > 0;) {
      if (freed(unit)) {
        copied[unit] = work(build_.add(Work{WorkKind::CopyOutAgain, unit, micro_batch}));
        build_.gate(*arrived_[unit], *copied[unit]);
        issue(micro_batch);
      }
      pass(WorkKind::Backward, unit, micro_batch);
      if (!reducing) continue;
      const PlanPoint copy = work(build_.add(Work{WorkKind::CopyIn, unit, micro_batch}));
      const std::size_t behind = unit + static_cast<std::size_t>(options_.reduce_buffers);
      if (behind < count()) build_.gate(*reduced[behind], copy);
      reduced[unit] = reduce(unit, reduces_, micro_batch, sums);
      build_.gate(copy, *reduced[unit]);
    }
    for (const auto& [unit, arrived] : waiting_) build_.gate(unit ? *copied[*unit] : last_copy_, arrived);
  }

  std::uint32_t gathers_ = 0, reduces_ = 0;
  PlanPoint last_copy_;
  std::vector<std::uint32_t> freed_;               // in backward order
  std::size_t next_ = 0;                           // of freed_, to be issued
  std::vector<std::optional<PlanPoint>> arrived_;  // by unit
  std::vector<std::pair<std::optional<std::uint32_t>, PlanPoint>>
      waiting_;  // for the copy of that unit, or the forward's last
};

class Fsdp1 : Fsdp {
 public:
  Fsdp1(std::string_view name, const PlanRequest& request) : Fsdp(name, request, Reshard::All) {}

  Plan make() {
    lane_ = build_.add_lane("gather and reduce");
    if (groups()) replicate_ = build_.add_lane("replicate");
    for (std::uint32_t micro_batch = 0; micro_batch < micro_batches(); ++micro_batch) {
      forward(micro_batch);
      backward(micro_batch);
      end_micro_batch();
    }
    return finish();
  }

 private:
  void forward(std::uint32_t micro_batch) {
    std::vector<ProgramRange> passes;
    for (std::uint32_t unit = 0; unit < count(); ++unit) {
      const PlanPoint arrived = gather(unit, lane_, micro_batch);
      if (reshard_ == Reshard::All && unit >= options_.limit)
        build_.gate(work(passes[unit - static_cast<std::size_t>(options_.limit)].last), arrived);
      else
        build_.gate(boundary_, arrived);
      passes.push_back(pass(WorkKind::Forward, unit, micro_batch));
      build_.gate(arrived, work(passes.back().first));
    }
  }

  void backward(std::uint32_t micro_batch) {
    const bool ahead = options_.backward_prefetch != BackwardPrefetch::None;
    PlanPoint before = build_.so_far(), end = before;  // the work before the unit computed last, and that unit's end
    std::optional<PlanPoint> arrived, next;
    // A unit's gather waits, with `pre`, for what the unit before it in backward order waits for, else for its end.
    const auto fetch = [&](std::uint32_t unit) {
      if (!freed(unit)) return std::optional<PlanPoint>();
      const PlanPoint one = gather(unit, lane_, micro_batch);
      build_.gate(options_.backward_prefetch == BackwardPrefetch::Pre && unit + 1 < count() ? before : end, one);
      return std::optional(one);
    };
    next = fetch(count() - 1);
    for (std::uint32_t unit = count(); unit-- > 0;) {
      arrived = next;
      before = build_.so_far();
      const ProgramRange range = pass(WorkKind::Backward, unit, micro_batch);
      if (arrived) build_.gate(*arrived, work(range.first));
      end = work(range.last);
      if (ahead && unit > 0) next = fetch(unit - 1);
      build_.gate(end, reduce(unit, lane_, micro_batch));
      if (!ahead && unit > 0) next = fetch(unit - 1);
    }
  }

  std::uint32_t lane_ = 0;
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
