// Plans pipelines with strategies that send blocks: each chunk is planned as a separate model.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/plans/pipeline/pipeline_builder.hpp"
#include "sim/plans/schedule/gradients.hpp"

namespace allreplay {

namespace {

// Returns the strategy's schedule for a chunk, with tensors numbered as in the whole model.
BucketSchedule schedule_of_chunk(const PipelineRequest& request, std::uint32_t chunk, Activity pass) {
  const Chunk& layers = request.pipeline.chunks[chunk];
  std::vector<Time> backward;
  const std::vector<Time> weights = request.profile.weight_times();
  for (LayerId layer = 0; layer < request.profile.layers.size(); ++layer)
    backward.push_back(pass == Activity::BackwardWeight ? weights[layer] : request.profile.layers[layer].backward);
  const Profile part = slowed(profile_of_chunk(request.profile, layers, backward),
                              request.slowdowns[request.pipeline.index.rank_of[chunk]]);
  if (part.elements() == 0) return {};
  BucketSchedule schedule = make_bucket_schedule(
      request.strategy, {part, request.cost, request.options, true, request.pipeline.degrees.gradient_workers()});
  const TensorId first = first_tensor(request.profile, layers);
  for (Block& block : schedule.blocks)
    for (Slice& slice : block.slices) slice.tensor += first;
  return schedule;
}

class PipelinedBlocks : PipelineBuilder {
 public:
  explicit PipelinedBlocks(const PipelineRequest& request) : PipelineBuilder(request) {}

  Plan make() {
    const bool shards = options_.sharding.shards_optimizer();
    // The queueing policy is the same for all chunks; a chunk without tensors has none.
    std::vector<ChunkBlocks> blocks;
    QueueingPolicy queueing;
    for (std::uint32_t chunk = 0; chunk < pipeline_.chunks.size(); ++chunk) {
      BucketSchedule schedule = schedule_of_chunk(request_, chunk, last_pass_of(chunk));
      blocks.push_back({schedule, static_cast<std::uint32_t>(plan_.blocks.size()),
                        static_cast<std::uint32_t>(schedule.blocks.size())});
      if (!schedule.blocks.empty()) queueing = schedule;
      for (Block& block : schedule.blocks) plan_.blocks.push_back(std::move(block));
    }
    const bool by_layer = barrier_ == Barrier::Layer && !shards;
    begin({by_layer, profile_.update > Time(0), queueing.tick > Time(0), options_.sharding.shards_gradients()});
    for (const RankProgram& rank : ranks_) {
      if (shards) gather_lanes_.push_back(add_lane(fmt::format("gather {}", rank.rank()), as_listed()));
      reduce_lanes_.push_back(add_lane(fmt::format("{} {}", shards ? "reduce" : "network", rank.rank()), queueing));
      if (has_expert_groups()) expert_lanes_.push_back(add_lane(fmt::format("expert {}", rank.rank()), queueing));
    }
    add_sends();
    for (const RankProgram& rank : ranks_) {
      reduce_blocks(rank, blocks);
      if (shards) gather_blocks(rank, blocks);
    }
    return finish(!by_layer);
  }

 private:
  struct ChunkBlocks {
    QueueingPolicy queueing;
    std::uint32_t first = 0, count = 0;  // in the plan's blocks
  };

  Activity last_pass_of(std::uint32_t chunk) const {
    const ActionRow& row = pipeline_.rows[pipeline_.index.rank_of[chunk]];
    const auto last = std::find_if(row.rbegin(), row.rend(),
                                   [&](const Action& one) { return one.chunk == chunk && makes_gradients(one.kind); });
    return last->kind == Activity::Backward ? Activity::Backward : Activity::BackwardWeight;
  }

  void reduce_blocks(const RankProgram& rank, const std::vector<ChunkBlocks>& blocks) {
    const bool shards = options_.sharding.shards_optimizer();
    for (const GradientPass& pass : rank.passes()) {
      if (!pass.last && !options_.sharding.shards_gradients()) continue;
      const ChunkBlocks& own = blocks[pass.chunk];
      for (std::uint32_t index = own.first; index < own.first + own.count; ++index) {
        const LayerId layer = first_layer(plan_.blocks[index], profile_);
        Transfer one{.op = shards ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce,
                     .payload = {Payload::Kind::Gradients, index},
                     .lane = reduce_lane(rank, index),
                     .priority = priority_of(pass, index, own),
                     .micro_batch = pass.micro_batch};
        if (own.queueing.tick > Time(0))
          one.ticks_from = WorkPoint{rank.place(Activity::Mark, pass.chunk, pass.micro_batch), rank.rank()};
        const std::uint32_t reduced = add_reduction(rank.rank(), one);
        // Gradients do not wait for the rank's last exchange.
        gate(own.queueing.release == Release::Backward ? rank.point(rank.at(pass.action).last)
                                                       : rank.computed(rank.place(pass.kind, layer, pass.micro_batch)),
             transfer(reduced));
        if (shards || barrier_ == Barrier::Iteration) continue;
        const auto update = rank.find(Activity::Update, layer, 0);
        gate(transfer(reduced), rank.point(update ? *update : first_pass_of(rank, pass.chunk, layer)), true);
      }
    }
  }

  // Returns a priority that orders blocks by number of the gradient pass, then chunk, then the chunk's own priorities.
  std::int64_t priority_of(const GradientPass& pass, std::uint32_t index, const ChunkBlocks& own) {
    if (own.queueing.order != Order::Priority) return 0;
    std::vector<std::int64_t>& ranks = priorities_[pass.chunk];
    if (ranks.empty()) {
      std::set<std::int64_t> keys;
      for (std::uint32_t i = own.first; i < own.first + own.count; ++i) keys.insert(plan_.blocks[i].priority);
      for (std::uint32_t i = own.first; i < own.first + own.count; ++i)
        ranks.push_back(std::distance(keys.begin(), keys.find(plan_.blocks[i].priority)));
    }
    const auto all = static_cast<std::int64_t>(plan_.blocks.size());
    const std::int64_t chunks = std::ssize(pipeline_.chunks);
    return (pass.number * chunks + pass.chunk) * all + ranks[index - own.first];
  }

  void gather_blocks(const RankProgram& rank, const std::vector<ChunkBlocks>& blocks) {
    struct Gather {
      LayerId layer;
      std::int64_t priority;
      std::uint32_t block, chunk;
    };
    std::vector<Gather> gathers;
    for (const GradientPass& pass : rank.passes()) {
      if (!pass.last) continue;
      const ChunkBlocks& own = blocks[pass.chunk];
      for (std::uint32_t index = own.first; index < own.first + own.count; ++index)
        gathers.push_back({first_layer(plan_.blocks[index], profile_),
                           own.queueing.order == Order::Priority ? plan_.blocks[index].priority : 0, index,
                           pass.chunk});
    }
    std::stable_sort(gathers.begin(), gathers.end(), [](const Gather& a, const Gather& b) {
      return std::pair(a.layer, a.priority) < std::pair(b.layer, b.priority);
    });
    for (const Gather& one : gathers) {
      const std::uint32_t gathered = add_gather(rank, one.block, gather_lanes_[rank.rank()]);
      gate(update_of(rank), transfer(gathered));
      if (barrier_ == Barrier::Iteration)
        gate_first_action(rank, gathered);
      else
        gate(transfer(gathered), rank.point(first_pass_of(rank, one.chunk, one.layer)));
    }
  }

  std::map<std::uint32_t, std::vector<std::int64_t>> priorities_;  // by chunk: the rank of each block's priority
};

}  // namespace

Plan pipelined_blocks(const PipelineRequest& request) { return PipelinedBlocks(request).make(); }

}  // namespace allreplay
