#include "sim/schedule/megatron.hpp"

#include <algorithm>

#include "sim/schedule/gradients.hpp"
#include "sim/schedule/plan_builder.hpp"

namespace allreplay {

namespace {

class Megatron {
 public:
  explicit Megatron(const PlanRequest& request)
      : profile_(request.profile),
        options_(request.options.megatron),
        build_("megatron", sharded(request.options), profile_) {
    overlap_gather_ = overlaps_gathers(options_);
    build_.plan().memory_policy.step = megatron_step(profile_);
    gather_ = build_.add_lane("gather");
    reduce_ = build_.add_lane("reduce");
    make_buckets(megatron_bucket_size(options_, request.workers));
  }

  Plan make() {
    const auto layers = static_cast<LayerId>(profile_.layers.size());
    const auto micro_batches = static_cast<std::uint32_t>(build_.plan().sharding.accumulate);
    add_gathers();
    for (std::uint32_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
      for (LayerId layer = 0; layer < layers; ++layer) {
        const std::size_t place = build_.add(Work{Activity::Forward, layer, micro_batch});
        if (micro_batch == 0) gate_gathers(layer, place);
      }
      for (LayerId layer = layers; layer-- > 0;) {
        build_.add(Work{Activity::Backward, layer, micro_batch});
        if (micro_batch + 1 == micro_batches) launch(layer, micro_batch);
      }
    }
    const PlanPoint update = work(build_.add(Work{Activity::Update, everything}));
    build_.gate(reductions_, update);
    return build_.take();
  }

 private:
  static ShardingConfig sharded(const StrategyOptions& options) {
    ShardingConfig sharding = options.sharding;
    sharding.zero = options.megatron.distributed_optimizer ? 1 : 0;
    return sharding;
  }

  void make_buckets(std::int64_t least) {
    for (Block& bucket : megatron_buckets(profile_, options_.overlap_grad_reduce ? least : 0)) {
      made_by_.push_back(options_.overlap_grad_reduce ? first_layer(bucket, profile_) : 0);
      read_by_.push_back(first_layer(bucket, profile_));
      build_.add(std::move(bucket));
    }
  }

  // Adds gathers, from the bucket nearest to the input on.
  void add_gathers() {
    if (!options_.distributed_optimizer) return;
    for (std::uint32_t bucket = static_cast<std::uint32_t>(read_by_.size()); bucket-- > 0;)
      gathers_.push_back(build_.gather(bucket, gather_, 0));
    for (std::size_t i = 0; i < gathers_.size(); ++i)
      if (i == 0 || !overlap_gather_) build_.gate(start_of_program(), gathers_[i]);
  }

  // Makes the layer wait for its buckets. If gathers overlap, each bucket's gather starts when its predecessor is used.
  void gate_gathers(LayerId layer, std::size_t place) {
    for (std::size_t i = 0; i < gathers_.size(); ++i) {
      const LayerId reader = overlap_gather_ ? read_by_[read_by_.size() - 1 - i] : 0;
      if (reader != layer) continue;
      build_.gate(gathers_[i], work(place));
      if (!overlap_gather_ || i + 1 == gathers_.size()) continue;
      build_.gate(gathers_[i], gathers_[i + 1]);
      build_.gate(place > 0 ? work(place - 1) : start_of_program(), gathers_[i + 1]);
    }
  }

  void launch(LayerId layer, std::uint32_t micro_batch) {
    const bool shards = options_.distributed_optimizer;
    const CollectiveOp op = shards ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce;
    for (std::uint32_t bucket = 0; bucket < made_by_.size(); ++bucket) {
      if (made_by_[bucket] != layer) continue;
      const PlanPoint reduced = build_.reduce(op, shards ? group_shard : group_all, bucket, reduce_, micro_batch);
      build_.gate(build_.so_far(), reduced);
      reductions_.push_back(reduced);
      if (!shards || build_.plan().sharding.shard_group == 0) continue;
      const PlanPoint summed = build_.sum_shards(bucket, reduce_, micro_batch);
      build_.gate(reduced, summed);
      reductions_.push_back(summed);
    }
  }

  const Profile& profile_;
  const MegatronOptions& options_;
  PlanBuilder build_;
  bool overlap_gather_ = false;
  std::uint32_t gather_ = 0, reduce_ = 0;
  std::vector<LayerId> made_by_, read_by_;  // by bucket: layer that completes its gradients; first layer that reads it
  std::vector<PlanPoint> gathers_, reductions_;
};

}  // namespace

std::vector<Block> megatron_buckets(const Profile& profile, std::int64_t least) {
  std::vector<Block> buckets;
  std::int64_t elements = 0;
  for (const Gradient& one : gradients(profile)) {
    if (buckets.empty() || (least > 0 && elements >= least)) {
      buckets.emplace_back();
      elements = 0;
    }
    buckets.back().slices.push_back({one.tensor, 0, one.bytes});
    elements += profile.tensors[one.tensor].elements;
  }
  return buckets;
}

std::int64_t megatron_bucket_size(const MegatronOptions& options, std::int64_t workers) {
  return options.bucket_size > 0 ? options.bucket_size : std::max<std::int64_t>(40'000'000, 1'000'000 * workers);
}

bool overlaps_gathers(const MegatronOptions& options) {
  const bool both = options.distributed_optimizer && options.overlap_grad_reduce;
  if (options.overlap_param_gather.value_or(false) && !both)
    throw InputError(options.place,
                     "overlap_param_gather=true needs the distributed optimizer and overlapping reductions",
                     "distributed_optimizer=true and overlap_grad_reduce=true");
  return options.overlap_param_gather.value_or(both);
}

// The copy is `main_param.grad = model_grad.float()` in _copy_model_grads_to_main_grads() of megatron/core/optimizer
// (core 0.8: distrib_optimizer.py, optimizer.py). Its FusedAdam has no temporaries.
Bytes megatron_step(const Profile& profile) { return bytes_of_gradient(profile) < 4 ? 4 : 0; }

Plan plan_megatron(const PlanRequest& request) { return Megatron(request).make(); }

}  // namespace allreplay
