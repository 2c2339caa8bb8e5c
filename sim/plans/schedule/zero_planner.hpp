// The backward pass of DeepSpeed's ZeRO, which its stages share.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/plan_builder.hpp"
#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

// Gradients that are reduced together. The backward pass of layer `closed_by` closes the bucket; none: the pass's end.
struct ZeroBucket {
  Block block;
  std::optional<LayerId> closed_by;
};

// A bucket is closed before it would exceed `most` elements; a larger gradient has its own bucket.
inline std::vector<ZeroBucket> buckets_of(const Profile& profile, const std::vector<Gradient>& order,
                                          std::int64_t most) {
  std::vector<ZeroBucket> buckets;
  std::int64_t elements = 0;
  for (const Gradient& one : order) {
    const Tensor& tensor = profile.tensors[one.tensor];
    if (buckets.empty() || elements + tensor.elements > most) {
      if (!buckets.empty()) buckets.back().closed_by = tensor.layer;
      buckets.emplace_back();
      elements = 0;
    }
    elements += tensor.elements;
    buckets.back().block.slices.push_back({one.tensor, 0, one.bytes});
  }
  return buckets;
}

// The reductions of a micro-batch.
struct ZeroReduction {
  CollectiveOp op;
  DataParallelGroup group;
  std::uint32_t micro_batch;
};

// The backward pass that zero-1, zero-2 and zero-3 share: buckets are launched as they close, and the next compute task
// waits for the bucket that was launched `behind` buckets earlier.
class ZeroPlanner {
 public:
  virtual ~ZeroPlanner() = default;
  ZeroPlanner(std::string_view name, const PlanRequest& request, const ShardingConfig& sharding, bool overlaps)
      : profile_(request.profile),
        options_(request.options.zero),
        workers_(request.workers),
        build_(name, sharding, profile_) {
    overlaps_ = options_.overlap_comm.value_or(overlaps);
    gather_ = build_.add_lane("gather");
    reduce_ = build_.add_lane("reduce");
    // The step flattens the shard's gradients and converts them to fp32 before it frees either (DeepSpeed 0.16:
    // stage_1_and_2.py, step(); stage3.py, _prepare_fp32_grad_for_sub_group()). Its FusedAdam has no temporaries.
    const Bytes gradient = bytes_of_gradient(profile_);
    build_.plan().memory_policy.step = 4 + (gradient < 4 ? gradient : 0);
  }

 protected:
  std::uint32_t micro_batches() const { return static_cast<std::uint32_t>(build_.plan().sharding.accumulate); }
  LayerId layers() const { return static_cast<LayerId>(profile_.layers.size()); }

  void set_buckets(const std::vector<Gradient>& order) {
    buckets_ = buckets_of(profile_, order, options_.reduce_bucket);
    for (const ZeroBucket& bucket : buckets_) blocks_.push_back(add_blocks(bucket.block));
  }

  // Without quantising, a bucket is reduced as one block.
  virtual std::vector<std::uint32_t> add_blocks(const Block& bucket) { return {build_.add(bucket)}; }
  // Sends one of these blocks; returns when it is reduced.
  virtual PlanPoint send(const ZeroReduction& as, std::uint32_t block) {
    const PlanPoint sent = build_.reduce(as.op, as.group, block, reduce_, as.micro_batch);
    build_.gate(build_.so_far(), sent);
    return sent;
  }

  // Launches the buckets that the layer's backward pass closes.
  void launch(LayerId layer, const ZeroReduction& as, std::size_t behind) {
    while (launched_.size() < buckets_.size() && buckets_[launched_.size()].closed_by == layer) launch_next(as, behind);
  }
  void launch_next(const ZeroReduction& as, std::size_t behind) {
    std::vector<PlanPoint> sent;
    for (const std::uint32_t block : blocks_[launched_.size()]) sent.push_back(send(as, block));
    launched_.push_back(std::move(sent));
    if (launched_.size() > behind) build_.wait_for(launched_[launched_.size() - 1 - behind]);
  }
  // Launches the remaining buckets; the next compute task waits for all of them.
  void end_backward(const ZeroReduction& as) {
    while (launched_.size() < buckets_.size()) launch_next(as, buckets_.size());
    build_.forget_waits();  // they are among the following
    for (const std::vector<PlanPoint>& bucket : launched_) build_.wait_for(bucket);
    launched_.clear();
  }

  const Profile& profile_;
  const ZeroOptions& options_;
  std::int64_t workers_;
  PlanBuilder build_;
  bool overlaps_ = false;
  std::uint32_t gather_ = 0, reduce_ = 0;
  std::vector<ZeroBucket> buckets_;
  std::vector<std::vector<std::uint32_t>> blocks_;  // by bucket: those that are sent separately
  std::vector<std::vector<PlanPoint>> launched_;    // by bucket, in this micro-batch
};

}  // namespace allreplay
