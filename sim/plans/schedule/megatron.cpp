#include "sim/plans/schedule/megatron.hpp"

#include <algorithm>

#include "sim/plans/schedule/experts.hpp"
#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/plan_builder.hpp"
#include "sim/plans/schedule/planners.hpp"

namespace allreplay {

namespace {

class Megatron {
 public:
  explicit Megatron(const PlanRequest& request)
      : profile_(request.profile),
        options_(request.options.megatron),
        build_("megatron", request.options.sharding.at_stage(options_.distributed_optimizer ? 1 : 0), profile_) {
    overlap_gather_ = overlaps_gathers(options_);
    build_.plan().memory_policy.step = megatron_step(profile_);
    const std::int64_t least = options_.overlap_grad_reduce ? megatron_bucket_size(options_, request.workers) : 0;
    for (const PartOfTensors& part : parts_of_tensors(profile_, build_.plan().sharding)) add_list(part, least);
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
  // The buckets of experts, or of all other tensors, and their communicator's lanes.
  struct BucketList {
    bool experts = false;
    std::uint32_t gather = 0, reduce = 0;   // lanes
    std::uint32_t first = 0;                // in the plan's blocks
    std::vector<LayerId> made_by, read_by;  // by bucket: layer that completes its gradients; first one that reads it
    std::vector<PlanPoint> gathers;         // from the bucket nearest to the input on
  };

  void add_list(const PartOfTensors& part, std::int64_t least) {
    BucketList list{.experts = part.experts, .first = static_cast<std::uint32_t>(build_.plan().blocks.size())};
    list.gather = build_.add_lane(part.experts ? "expert-gather" : "gather");
    list.reduce = build_.add_lane(part.experts ? "expert" : "reduce");
    for (Block& bucket : part.blocks_of_whole(megatron_buckets(part.profile, least))) {
      list.made_by.push_back(options_.overlap_grad_reduce ? first_layer(bucket, profile_) : 0);
      list.read_by.push_back(first_layer(bucket, profile_));
      build_.add(std::move(bucket));
    }
    lists_.push_back(std::move(list));
  }

  void add_gathers() {
    if (!options_.distributed_optimizer) return;
    for (BucketList& list : lists_) {
      for (auto bucket = static_cast<std::uint32_t>(list.read_by.size()); bucket-- > 0;)
        list.gathers.push_back(
            build_.gather(list.first + bucket, list.gather, 0, list.experts ? group_expert : group_shard));
      for (std::size_t i = 0; i < list.gathers.size(); ++i)
        if (i == 0 || !overlap_gather_) build_.gate(start_of_program(), list.gathers[i]);
    }
  }

  // Makes the layer wait for its buckets. If gathers overlap, each bucket's gather starts when its predecessor in the
  // list is used.
  void gate_gathers(LayerId layer, std::size_t place) {
    for (const auto& [experts, gather, reduce, first, made_by, read_by, gathers] : lists_)
      for (std::size_t i = 0; i < gathers.size(); ++i) {
        const LayerId reader = overlap_gather_ ? read_by[read_by.size() - 1 - i] : 0;
        if (reader != layer) continue;
        build_.gate(gathers[i], work(place));
        if (!overlap_gather_ || i + 1 == gathers.size()) continue;
        build_.gate(gathers[i], gathers[i + 1]);
        build_.gate(place > 0 ? work(place - 1) : start_of_program(), gathers[i + 1]);
      }
  }

  void launch(LayerId layer, std::uint32_t micro_batch) {
    const bool shards = options_.distributed_optimizer;
    const CollectiveOp op = shards ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce;
    for (const BucketList& list : lists_)
      for (std::uint32_t i = 0; i < list.made_by.size(); ++i) {
        if (list.made_by[i] != layer) continue;
        const DataParallelGroup group = list.experts ? group_expert : shards ? group_shard : group_all;
        const std::uint32_t bucket = list.first + i;
        const PlanPoint reduced = build_.reduce(op, group, bucket, list.reduce, micro_batch);
        build_.gate(build_.so_far(), reduced);
        reductions_.push_back(reduced);
        if (!shards || build_.plan().sharding.shard_group == 0) continue;
        const PlanPoint summed = build_.sum_shards(bucket, list.reduce, micro_batch);
        build_.gate(reduced, summed);
        reductions_.push_back(summed);
      }
  }

  const Profile& profile_;
  const MegatronOptions& options_;
  PlanBuilder build_;
  bool overlap_gather_ = false;
  std::vector<BucketList> lists_;
  std::vector<PlanPoint> reductions_;
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
