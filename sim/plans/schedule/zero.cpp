#include <algorithm>

#include "sim/plans/schedule/planners.hpp"
#include "sim/plans/schedule/zero_planner.hpp"

namespace allreplay {

namespace {

class Zero12 : ZeroPlanner {
 public:
  Zero12(std::string_view name, const PlanRequest& request, std::int64_t stage)
      : ZeroPlanner(name, request, request.options.sharding.at_stage(stage), false), stage_(stage) {}

  Plan make() {
    // Without overlap, ZeRO-1 sends after the whole backward pass, from the input on.
    const bool at_the_end = stage_ == 1 && !overlaps_;
    std::vector<Gradient> order = gradients(profile_);
    if (at_the_end)
      std::sort(order.begin(), order.end(), [](const Gradient& a, const Gradient& b) { return a.tensor < b.tensor; });
    set_buckets(order);
    build_.plan().memory_policy.reduce_buffer =
        std::min(profile_.elements(), (overlaps_ ? 2 : 1) * options_.reduce_bucket);
    const std::int64_t most = options_.allgather_bucket > 0 ? options_.allgather_bucket : profile_.elements();
    const Block all = without_frozen(block_of_layers({0, layers() - 1}, profile_), profile_);
    for (Block& piece : cut_into_pieces(all, most, profile_)) {
      const PlanPoint gathered = build_.gather(build_.add(std::move(piece)), gather_, 0);
      build_.gate(start_of_program(), gathered);
      build_.wait_for(gathered);
    }
    for (std::uint32_t micro_batch = 0; micro_batch < micro_batches(); ++micro_batch) {
      const bool reducing = stage_ == 2 || micro_batch + 1 == micro_batches();
      const ZeroReduction as = options_.whole_buckets
                                   ? ZeroReduction{CollectiveOp::AllReduce, group_all, micro_batch}
                                   : ZeroReduction{CollectiveOp::ReduceScatter, group_shard, micro_batch};
      for (LayerId layer = 0; layer < layers(); ++layer) build_.compute({Activity::Forward, layer, micro_batch});
      for (LayerId layer = layers(); layer-- > 0;) {
        build_.compute({Activity::Backward, layer, micro_batch});
        if (reducing && !at_the_end) launch(layer, as, overlaps_ ? 1 : 0);
      }
      if (reducing) end_backward(as);
    }
    build_.compute({Activity::Update, everything});
    return build_.take();
  }

 private:
  std::int64_t stage_;
};

}  // namespace

Plan plan_zero1(const PlanRequest& request) { return Zero12("zero-1", request, 1).make(); }
Plan plan_zero2(const PlanRequest& request) { return Zero12("zero-2", request, 2).make(); }

}  // namespace allreplay
