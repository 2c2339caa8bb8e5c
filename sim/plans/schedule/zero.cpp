#include <algorithm>

#include "sim/plans/schedule/planners.hpp"
#include "sim/plans/schedule/zero_planner.hpp"

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

Block block_of_layers(const Unit& layers, const Profile& profile) {
  Block block;
  for (LayerId layer = layers.first; layer <= layers.last; ++layer)
    for (const Slice& slice : block_of_layer(layer, profile).slices) block.slices.push_back(slice);
  return block;
}

std::optional<std::uint32_t> gradients_of(std::uint32_t block, Plan& plan, const Profile& profile) {
  Block trained;
  for (const Slice& slice : plan.blocks[block].slices)
    if (!profile.is_frozen(slice.tensor)) trained.slices.push_back(slice);
  if (trained.slices.size() == plan.blocks[block].slices.size()) return block;
  if (trained.slices.empty()) return std::nullopt;
  plan.blocks.push_back(std::move(trained));
  return static_cast<std::uint32_t>(plan.blocks.size() - 1);
}

namespace {

class Zero12 : ZeroPlanner {
 public:
  Zero12(std::string_view name, const PlanRequest& request, std::int64_t stage)
      : ZeroPlanner(name, request, sharded(request.options.sharding, stage), false), stage_(stage) {}

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
      const ZeroReduction as = options_.whole_buckets
                                   ? ZeroReduction{CollectiveOp::AllReduce, group_all, micro_batch}
                                   : ZeroReduction{CollectiveOp::ReduceScatter, group_shard, micro_batch};
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
  // Adds blocks of `allgather_bucket` elements that hold all parameters that are updated.
  std::vector<std::uint32_t> pieces() {
    const std::int64_t most = options_.allgather_bucket > 0 ? options_.allgather_bucket : profile_.elements();
    std::vector<Block> blocks;
    std::int64_t left = 0;  // elements that still fit into the last block
    for (TensorId id = 0; id < profile_.tensors.size(); ++id) {
      if (profile_.is_frozen(id)) continue;
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

}  // namespace

Plan plan_zero1(const PlanRequest& request) { return Zero12("zero-1", request, 1).make(); }
Plan plan_zero2(const PlanRequest& request) { return Zero12("zero-2", request, 2).make(); }

}  // namespace allreplay
