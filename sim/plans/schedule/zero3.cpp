#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "sim/plans/schedule/planners.hpp"
#include "sim/plans/schedule/quantising.hpp"
#include "sim/plans/schedule/zero_planner.hpp"

namespace allreplay {

namespace {

// ZeRO-3. Gathers follow only from the trace of one micro-batch: F_1 … F_L, B_L … B_1.
class Zero3 : ZeroPlanner {
 public:
  explicit Zero3(const PlanRequest& request)
      : ZeroPlanner("zero-3", request, sharded_in_nodes(request), true),
        elements_(layers()),
        whole_(layers()),
        has_secondary_(layers(), false) {
    build_.plan().quantise_rate = options_.quantise;
    if (options_.quantise && options_.qwz) quantise_ = build_.add_stream("quantise");
    if (options_.quantise && reduces_in_nodes()) quantise_gradients_ = build_.add_stream("quantise gradients");
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
    // Between a layer's two positions in the trace, each layer above it occurs twice, or once without a backward pass.
    between_.assign(layers(), 0);
    for (LayerId layer = layers(); layer-- > 1;)
      between_[layer - 1] = between_[layer] + (needs_backward(layer) ? 2 : 1) * whole_[layer];
    if (!resident.slices.empty()) build_.plan().memory_policy.resident = build_.add(std::move(resident));
    gathered_.assign(layers(), std::nullopt);
    for (LayerId layer = 0; layer < layers(); ++layer) set_missing(layer, true);
  }

  Plan make() {
    set_buckets(gradients(profile_));
    if (const auto resident = build_.plan().memory_policy.resident) {
      const PlanPoint refreshed = build_.gather(*resident, gather_, 0);
      build_.gate(start_of_program(), refreshed);
      build_.wait_for(refreshed);
    }
    for (std::uint32_t micro_batch = 0; micro_batch < micro_batches(); ++micro_batch) {
      for (std::size_t at = 0; at < trace_length(); ++at) step(at, micro_batch);
      end_backward(reduction(micro_batch));
    }
    build_.compute({Activity::Update, everything});
    return build_.take();
  }

 private:
  std::size_t trace_length() const { return 2 * layers(); }
  LayerId layer_at(std::size_t at) const { return static_cast<LayerId>(at < layers() ? at : trace_length() - 1 - at); }
  bool needs_backward(LayerId layer) const { return profile_.needs_backward(layer, layer); }
  static ZeroReduction reduction(std::uint32_t micro_batch) {
    return {CollectiveOp::ReduceScatter, group_shard, micro_batch};
  }

  void step(std::size_t at, std::uint32_t micro_batch) {
    const LayerId layer = layer_at(at);
    const bool forward = at < layers(), runs = forward || needs_backward(layer);
    if (runs && elements_[layer] > 0 && !gathered_[layer]) gather({layer}, micro_batch);
    if (runs) prefetch(at, micro_batch);
    if (const auto arrived = gathered_[layer]) await(*arrived);
    build_.compute({forward ? Activity::Forward : Activity::Backward, layer, micro_batch});
    if (!forward) launch(layer, reduction(micro_batch), overlaps_ ? 3 : 0);
    if (forward && needs_backward(layer) && between_[layer] < options_.max_reuse) return;  // needed again soon
    if (!gathered_[layer]) return;
    live_ -= elements_[layer];
    gathered_[layer].reset();
    has_secondary_[layer] = build_.plan().sharding.secondary > 1;
    set_missing(layer, true);
  }

  // Sets it for both positions of the layer in the trace.
  void set_missing(LayerId layer, bool missing) {
    if (elements_[layer] == 0) return;
    for (const std::size_t at : {std::size_t{layer}, trace_length() - 1 - layer})
      if (at >= layers() && !needs_backward(layer))
        continue;
      else if (missing)
        missing_.insert(missing_.end(), at);
      else
        missing_.erase(at);
  }

  // Gathers the layers in one collective, after the previous compute task has ended; those with a secondary copy in a
  // collective of their own, before the others.
  void gather(const std::vector<LayerId>& layers, std::uint32_t micro_batch) {
    for (const bool secondary : {true, false}) {
      Block block;
      std::vector<LayerId> own;
      for (const LayerId layer : layers) {
        if (has_secondary_[layer] != secondary) continue;
        own.push_back(layer);
        for (const Slice& slice : partial_[layer].slices) block.slices.push_back(slice);
      }
      if (own.empty()) continue;
      arrivals_.push_back(issue(build_.add(std::move(block)), secondary, micro_batch));
      for (const LayerId layer : own) {
        gathered_[layer] = arrivals_.size() - 1;
        live_ += elements_[layer];
        set_missing(layer, false);
      }
    }
  }

  // A gather. Quantised: its values, then their scales, and it is dequantised before its first use.
  struct Gather {
    std::uint32_t block = 0, micro_batch = 0;
    std::vector<PlanPoint> arrived;  // transfers that the next work to read it waits for
    bool is_ready = true;            // no work has to dequantise it
  };

  Gather issue(std::uint32_t block, bool secondary, std::uint32_t micro_batch) {
    const std::uint32_t group = secondary ? group_secondary : group_shard;
    Payload payload{secondary ? Payload::Kind::Secondary : Payload::Kind::Parameters, block};
    if (!options_.qwz) {
      const PlanPoint sent = build_.send(CollectiveOp::AllGather, group, payload, gather_, micro_batch);
      build_.gate(build_.so_far(), sent);
      return {block, micro_batch, {sent}};
    }
    const std::int64_t ranks = secondary ? build_.plan().sharding.secondary : workers_;
    const WireType scales = require_scales(block, ranks);
    PlanPoint before = build_.so_far();
    if (quantise_) {
      const double bytes = wire_bytes(build_.plan(), group, payload, profile_) / static_cast<double>(ranks);
      const PlanPoint quantised = build_.compute(Activity::Quantise, payload, bytes, *quantise_, micro_batch);
      build_.gate(before, quantised);
      if (last_gather_) build_.gate(*last_gather_, quantised);
      before = quantised;
    }
    payload.wire = int8_values;
    const PlanPoint values = build_.send(CollectiveOp::AllGather, group, payload, gather_, micro_batch);
    payload.wire = scales;
    const PlanPoint their_scales = build_.send(CollectiveOp::AllGather, group, payload, gather_, micro_batch);
    build_.gate(before, values);
    build_.gate(values, their_scales);
    last_gather_ = their_scales;
    return {block, micro_batch, {values, their_scales}, !quantise_};
  }

  WireType require_scales(std::uint32_t block, std::int64_t ranks) const {
    std::int64_t elements = 0;
    for (const Slice& slice : build_.plan().blocks[block].slices)
      elements += (profile_.tensors[slice.tensor].elements + ranks - 1) / ranks;
    const auto scales = scales_of_shard(elements);
    if (!scales)
      throw InputError(options_.place_of_qwz,
                       fmt::format("DeepSpeed cannot quantise a shard of {} elements of {}", elements,
                                   names_of(build_.plan().blocks[block], profile_)),
                       "qwz=false, or sizes that 8 times the number of workers divides");
    return *scales;
  }

  void await(std::size_t number) {
    Gather& one = arrivals_[number];
    build_.wait_for(one.arrived);
    if (one.is_ready) return;
    build_.compute({Activity::Dequantise, one.block, one.micro_batch});
    one.arrived.clear();  // later works of the program follow the dequantising
    one.is_ready = true;
  }

  static ShardingConfig sharded_in_nodes(const PlanRequest& request) {
    ShardingConfig sharding = request.options.sharding.at_stage(3);
    sharding.secondary = request.options.zero.hpz;
    if (request.options.zero.qgz && request.workers > request.node) sharding.node = request.node;
    return sharding;
  }
  bool reduces_in_nodes() const { return build_.plan().sharding.node > 0; }

  // Each tensor is reduced by itself if gradients are quantised.
  std::vector<std::uint32_t> add_blocks(const Block& bucket) override {
    if (!reduces_in_nodes()) return ZeroPlanner::add_blocks(bucket);
    std::vector<std::uint32_t> blocks;
    for (const Slice& slice : bucket.slices) blocks.push_back(build_.add(Block{{slice}}));
    return blocks;
  }

  PlanPoint send(const ZeroReduction& as, std::uint32_t block) override {
    const Block& own = build_.plan().blocks[block];
    const auto scales =
        reduces_in_nodes() ? scales_of_gradient(profile_.tensors[own.slices.front().tensor], workers_) : std::nullopt;
    const auto before = last_reduction_;
    const std::size_t first = build_.plan().transfers.size();
    last_reduction_ = scales ? quantised(as.micro_batch, block, *scales) : ZeroPlanner::send(as, block);
    if (before && quantise_gradients_) build_.gate(*before, transfer(first));  // the lane also quantises
    return *last_reduction_;
  }

  // Reduces by an all-to-all in the node and another between nodes: values, then scales.
  PlanPoint quantised(std::uint32_t micro_batch, std::uint32_t block, const WireType& scales) {
    const auto bytes = static_cast<double>(build_.plan().blocks[block].bytes());
    const double part = bytes / static_cast<double>(build_.plan().sharding.node);
    PlanPoint last = build_.so_far();
    const auto then = [&](const PlanPoint& next) {
      build_.gate(last, next);
      last = next;
    };
    const auto convert = [&](Activity how, double of) {
      if (!quantise_gradients_) return;
      then(build_.compute(how, {Payload::Kind::Gradients, block}, of, *quantise_gradients_, micro_batch));
    };
    const auto exchange = [&](std::uint32_t group) {
      for (const WireType& wire : {int4_values, scales})
        then(build_.send(CollectiveOp::AllToAll, group, {Payload::Kind::Gradients, block, wire}, reduce_, micro_batch));
    };
    convert(Activity::Quantise, bytes);
    exchange(group_node);
    convert(Activity::Dequantise, bytes);
    convert(Activity::Quantise, part);
    exchange(group_nodes);
    convert(Activity::Dequantise, part);
    return last;
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

  std::vector<std::int64_t> elements_;                // by layer: elements that are gathered and freed
  std::vector<std::int64_t> whole_;                   // by layer: all elements
  std::vector<std::int64_t> between_;                 // by layer: elements of the trace until it is needed again
  std::int64_t live_ = 0;                             // elements gathered or in flight
  std::vector<Block> partial_;                        // by layer: tensors that are gathered and freed
  std::vector<std::optional<std::size_t>> gathered_;  // by layer: index into arrivals_, unless it is freed
  std::vector<Gather> arrivals_;
  std::set<std::size_t> missing_;    // positions in the trace of layers that are not gathered
  std::vector<bool> has_secondary_;  // by layer: it has been freed since the update, and left a secondary shard
  std::optional<std::uint32_t> quantise_, quantise_gradients_;  // lanes
  std::optional<PlanPoint> last_gather_, last_reduction_;       // if quantised, the last ones in their lanes
};

}  // namespace

Plan plan_zero3(const PlanRequest& request) { return Zero3(request).make(); }

}  // namespace allreplay
