#include "sim/schedule/zero.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "sim/schedule/gradients.hpp"
#include "sim/schedule/plan_builder.hpp"

namespace allreplay {

Block block_of_layer(LayerId layer, const Profile& profile) {
  const auto& tensors = profile.tensors;
  const auto first = std::lower_bound(tensors.begin(), tensors.end(), layer,
                                      [](const Tensor& one, LayerId other) { return one.layer < other; });
  Block block;
  for (auto one = first; one != tensors.end() && one->layer == layer; ++one)
    block.slices.push_back({static_cast<TensorId>(one - tensors.begin()), 0, one->bytes});
  return block;
}

namespace {

// Gradients that are reduced together. The backward pass of layer `closed_by` closes the bucket; none: the pass's end.
struct Bucket {
  Block block;
  std::optional<LayerId> closed_by;
};

// A bucket is closed before it would exceed `most` elements; a larger gradient has its own bucket.
std::vector<Bucket> buckets_of(const Profile& profile, const std::vector<Gradient>& order, std::int64_t most) {
  std::vector<Bucket> buckets;
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
struct Reduction {
  CollectiveOp op;
  DataParallelGroup group;
  std::uint32_t micro_batch;
};

// The backward pass that zero-1, zero-2 and zero-3 share: buckets are launched as they close, and the next compute task
// waits for the bucket that was launched `behind` buckets earlier.
class Zero {
 public:
  Zero(std::string_view name, const PlanRequest& request, std::int64_t stage, bool overlaps)
      : profile_(request.profile),
        options_(request.options.zero),
        build_(name, sharded(request.options.sharding, stage), profile_) {
    overlaps_ = options_.overlap_comm.value_or(overlaps);
    gather_ = build_.add_lane("gather");
    reduce_ = build_.add_lane("reduce");
    // The step flattens the shard's gradients and converts them to fp32 before it frees either (DeepSpeed 0.16:
    // stage_1_and_2.py, step(); stage3.py, _prepare_fp32_grad_for_sub_group()). Its FusedAdam has no temporaries.
    const Bytes gradient = bytes_of_gradient(profile_);
    build_.plan().memory_policy.step = 4 + (gradient < 4 ? gradient : 0);
  }

 protected:
  static ShardingConfig sharded(ShardingConfig step, std::int64_t stage) {
    step.zero = stage;
    return step;
  }

  std::uint32_t micro_batches() const { return static_cast<std::uint32_t>(build_.plan().sharding.accumulate); }
  LayerId layers() const { return static_cast<LayerId>(profile_.layers.size()); }

  // Adds the next compute task, which waits for everything in awaited_.
  std::size_t compute(const Work& work) {
    const std::size_t place = build_.add(work);
    build_.gate(awaited_, allreplay::work(place));
    awaited_.clear();
    return place;
  }

  void set_buckets(const std::vector<Gradient>& order) {
    buckets_ = buckets_of(profile_, order, options_.reduce_bucket);
    for (const Bucket& bucket : buckets_) blocks_.push_back(build_.add(bucket.block));
  }

  // Launches the buckets that the layer's backward pass closes.
  void launch(LayerId layer, const Reduction& as, std::size_t behind) {
    while (launched_.size() < buckets_.size() && buckets_[launched_.size()].closed_by == layer) launch_next(as, behind);
  }
  void launch_next(const Reduction& as, std::size_t behind) {
    const PlanPoint sent = build_.reduce(as.op, as.group, blocks_[launched_.size()], reduce_, as.micro_batch);
    build_.gate(build_.so_far(), sent);
    launched_.push_back(sent);
    if (launched_.size() > behind) awaited_.push_back(launched_[launched_.size() - 1 - behind]);
  }
  // Launches the remaining buckets; the next compute task waits for all of them.
  void end_backward(const Reduction& as) {
    while (launched_.size() < buckets_.size()) launch_next(as, buckets_.size());
    awaited_ = std::move(launched_);
    launched_.clear();
  }

  const Profile& profile_;
  const ZeroOptions& options_;
  PlanBuilder build_;
  bool overlaps_ = false;
  std::uint32_t gather_ = 0, reduce_ = 0;
  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> blocks_;  // by bucket
  std::vector<PlanPoint> launched_;    // in this micro-batch
  std::vector<PlanPoint> awaited_;     // by the next compute task
};

class Zero12 : Zero {
 public:
  Zero12(std::string_view name, const PlanRequest& request, std::int64_t stage)
      : Zero(name, request, stage, false), stage_(stage) {}

  Plan make() {
    // Without overlap, ZeRO-1 sends after the whole backward pass, from the input on.
    const bool at_the_end = stage_ == 1 && !overlaps_;
    std::vector<Gradient> order = gradients(profile_);
    if (at_the_end)
      std::sort(order.begin(), order.end(), [](const Gradient& a, const Gradient& b) { return a.tensor < b.tensor; });
    set_buckets(order);
    build_.plan().memory_policy.reduce_buffer =
        std::min(profile_.elements(), (overlaps_ ? 2 : 1) * options_.reduce_bucket);
    for (const std::uint32_t piece : pieces()) {
      awaited_.push_back(build_.gather(piece, gather_, 0));
      build_.gate(start_of_program(), awaited_.back());
    }
    for (std::uint32_t micro_batch = 0; micro_batch < micro_batches(); ++micro_batch) {
      const bool reducing = stage_ == 2 || micro_batch + 1 == micro_batches();
      const Reduction as = options_.whole_buckets ? Reduction{CollectiveOp::AllReduce, group_all, micro_batch}
                                                  : Reduction{CollectiveOp::ReduceScatter, group_shard, micro_batch};
      for (LayerId layer = 0; layer < layers(); ++layer) compute({Activity::Forward, layer, micro_batch});
      for (LayerId layer = layers(); layer-- > 0;) {
        compute({Activity::Backward, layer, micro_batch});
        if (reducing && !at_the_end) launch(layer, as, overlaps_ ? 1 : 0);
      }
      if (reducing) end_backward(as);
    }
    compute({Activity::Update, everything});
    return build_.take();
  }

 private:
  // Adds blocks of `allgather_bucket` elements that hold all parameters.
  std::vector<std::uint32_t> pieces() {
    const std::int64_t most = options_.allgather_bucket > 0 ? options_.allgather_bucket : profile_.elements();
    std::vector<Block> blocks;
    std::int64_t left = 0;  // elements that still fit into the last block
    for (TensorId id = 0; id < profile_.tensors.size(); ++id) {
      const Tensor& tensor = profile_.tensors[id];
      const Bytes each = tensor.bytes / tensor.elements;
      for (std::int64_t sent = 0; sent < tensor.elements;) {
        if (left == 0) {
          blocks.emplace_back();
          left = most;
        }
        const std::int64_t count = std::min(left, tensor.elements - sent);
        blocks.back().slices.push_back({id, sent * each, count * each});
        sent += count;
        left -= count;
      }
    }
    std::vector<std::uint32_t> numbers;
    for (Block& block : blocks) numbers.push_back(build_.add(std::move(block)));
    return numbers;
  }

  std::int64_t stage_;
};

// ZeRO-3. Gathers follow only from the trace of one micro-batch: F_1 … F_L, B_L … B_1.
class Zero3 : Zero {
 public:
  explicit Zero3(const PlanRequest& request) : Zero("zero-3", request, 3, true), elements_(layers()), whole_(layers()) {
    build_.plan().memory_policy.step_elements = 1'000'000'000;  // sub_group_size
    Block resident;
    partial_.resize(layers());
    for (TensorId id = 0; id < profile_.tensors.size(); ++id) {
      const Tensor& tensor = profile_.tensors[id];
      whole_[tensor.layer] += tensor.elements;
      if (tensor.elements <= options_.persistence) {
        resident.slices.push_back({id, 0, tensor.bytes});
        continue;
      }
      partial_[tensor.layer].slices.push_back({id, 0, tensor.bytes});
      elements_[tensor.layer] += tensor.elements;
    }
    // Between a layer's two positions in the trace, each layer above it occurs twice.
    between_.assign(layers(), 0);
    for (LayerId layer = layers(); layer-- > 1;) between_[layer - 1] = between_[layer] + 2 * whole_[layer];
    if (!resident.slices.empty()) build_.plan().memory_policy.resident = build_.add(std::move(resident));
    gathered_.assign(layers(), std::nullopt);
    for (LayerId layer = 0; layer < layers(); ++layer) set_missing(layer, true);
  }

  Plan make() {
    set_buckets(gradients(profile_));
    if (const auto resident = build_.plan().memory_policy.resident) {
      const PlanPoint refreshed = build_.gather(*resident, gather_, 0);
      build_.gate(start_of_program(), refreshed);
      awaited_.push_back(refreshed);
    }
    for (std::uint32_t micro_batch = 0; micro_batch < micro_batches(); ++micro_batch) {
      for (std::size_t at = 0; at < trace_length(); ++at) step(at, micro_batch);
      end_backward(reduction(micro_batch));
    }
    compute({Activity::Update, everything});
    return build_.take();
  }

 private:
  std::size_t trace_length() const { return 2 * layers(); }
  LayerId layer_at(std::size_t at) const { return static_cast<LayerId>(at < layers() ? at : trace_length() - 1 - at); }
  static Reduction reduction(std::uint32_t micro_batch) {
    return {CollectiveOp::ReduceScatter, group_shard, micro_batch};
  }

  void step(std::size_t at, std::uint32_t micro_batch) {
    const LayerId layer = layer_at(at);
    const bool forward = at < layers();
    if (elements_[layer] > 0 && !gathered_[layer]) gather({layer}, micro_batch);
    prefetch(at, micro_batch);
    if (const auto arrived = gathered_[layer]) awaited_.push_back(*arrived);
    compute({forward ? Activity::Forward : Activity::Backward, layer, micro_batch});
    if (!forward) launch(layer, reduction(micro_batch), overlaps_ ? 3 : 0);
    if (forward && between_[layer] < options_.max_reuse) return;  // needed again soon
    if (!gathered_[layer]) return;
    live_ -= elements_[layer];
    gathered_[layer].reset();
    set_missing(layer, true);
  }

  // Sets it for both positions of the layer in the trace.
  void set_missing(LayerId layer, bool missing) {
    if (elements_[layer] == 0) return;
    for (const std::size_t at : {std::size_t{layer}, trace_length() - 1 - layer})
      if (missing)
        missing_.insert(missing_.end(), at);
      else
        missing_.erase(at);
  }

  // Gathers the layers in one collective, after the previous compute task has ended.
  void gather(const std::vector<LayerId>& layers, std::uint32_t micro_batch) {
    Block block;
    for (const LayerId layer : layers)
      for (const Slice& slice : partial_[layer].slices) block.slices.push_back(slice);
    const PlanPoint arrived = build_.gather(build_.add(std::move(block)), gather_, micro_batch);
    build_.gate(build_.so_far(), arrived);
    for (const LayerId layer : layers) {
      gathered_[layer] = arrived;
      live_ += elements_[layer];
      set_missing(layer, false);
    }
  }

  void prefetch(std::size_t at, std::uint32_t micro_batch) {
    std::int64_t taken = 0;
    const std::int64_t most = std::min(options_.prefetch_bucket, options_.max_live - live_);
    std::vector<LayerId> next;
    std::set<LayerId> taken_once;  // since each has two positions
    for (auto ahead = missing_.upper_bound(at); ahead != missing_.end() && taken < most; ++ahead) {
      const LayerId layer = layer_at(*ahead);
      if (!taken_once.insert(layer).second) continue;
      next.push_back(layer);
      taken += elements_[layer];
    }
    if (!next.empty()) gather(next, micro_batch);
  }

  std::vector<std::int64_t> elements_;              // by layer: elements that are gathered and freed
  std::vector<std::int64_t> whole_;                 // by layer: all elements
  std::vector<std::int64_t> between_;               // by layer: elements of the trace until it is needed again
  std::int64_t live_ = 0;                           // elements gathered or in flight
  std::vector<Block> partial_;                      // by layer: tensors that are gathered and freed
  std::vector<std::optional<PlanPoint>> gathered_;  // by layer: its gather, unless it is freed
  std::set<std::size_t> missing_;                   // positions in the trace of layers that are not gathered
};

}  // namespace

Plan plan_zero1(const PlanRequest& request) { return Zero12("zero-1", request, 1).make(); }
Plan plan_zero2(const PlanRequest& request) { return Zero12("zero-2", request, 2).make(); }
Plan plan_zero3(const PlanRequest& request) { return Zero3(request).make(); }

}  // namespace allreplay
