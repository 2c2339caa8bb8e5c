// Plans pipelines with Megatron-Core's gradient buckets.
#include <algorithm>

#include <fmt/format.h>

#include "sim/plans/pipeline/pipeline_builder.hpp"
#include "sim/plans/schedule/experts.hpp"
#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/megatron.hpp"

namespace allreplay {

namespace {

class PipelinedMegatron : PipelineBuilder {
 public:
  explicit PipelinedMegatron(const PipelineRequest& request) : PipelineBuilder(request) {}

  Plan make() {
    const MegatronOptions& options = options_.megatron;
    overlap_gathers_ = overlaps_gathers(options);
    plan_.sharding.zero = options.distributed_optimizer ? 1 : 0;
    plan_.memory_policy.step = megatron_step(profile_);
    begin({});
    const std::int64_t least =
        options.overlap_grad_reduce ? megatron_bucket_size(options, pipeline_.degrees.gradient_workers()) : 0;
    std::map<std::uint32_t, std::vector<std::uint32_t>> buckets;
    for (const RankProgram& rank : ranks_) {
      bool first = rank.rank() == 0;
      for (const std::uint32_t chunk : pipeline_.chunks_of(rank.rank()))
        buckets[chunk] = add_buckets(chunk, std::exchange(first, false) ? least : 0);
      gather_lanes_.push_back(add_lane(fmt::format("gather {}", rank.rank()), as_listed()));
      reduce_lanes_.push_back(add_lane(fmt::format("reduce {}", rank.rank()), as_listed()));
      if (!has_expert_groups()) continue;
      expert_gather_lanes_.push_back(add_lane(fmt::format("expert-gather {}", rank.rank()), as_listed()));
      expert_lanes_.push_back(add_lane(fmt::format("expert {}", rank.rank()), as_listed()));
    }
    add_sends();
    for (const RankProgram& rank : ranks_) {
      launch_buckets(rank, buckets);
      if (!options.distributed_optimizer) continue;
      gather_buckets(rank, buckets, false);
      if (has_expert_groups()) gather_buckets(rank, buckets, true);
    }
    return finish(true);
  }

 private:
  // Adds a chunk's buckets to the plan's blocks, in backward order, and returns their indices. Buckets of experts
  // follow the others.
  std::vector<std::uint32_t> add_buckets(std::uint32_t chunk, std::int64_t least) {
    const Chunk& layers = pipeline_.chunks[chunk];
    const Profile part = profile_of_chunk(profile_, layers, std::vector<Time>(profile_.layers.size()));
    const TensorId first = first_tensor(profile_, layers);
    std::vector<std::uint32_t> buckets;
    for (const PartOfTensors& kind : parts_of_tensors(part, options_.sharding))
      for (Block& bucket : kind.blocks_of_whole(megatron_buckets(kind.profile, least))) {
        for (Slice& slice : bucket.slices) slice.tensor += first;
        buckets.push_back(static_cast<std::uint32_t>(plan_.blocks.size()));
        plan_.blocks.push_back(std::move(bucket));
      }
    return buckets;
  }

  std::uint32_t add_bucket(const RankProgram& rank, std::uint32_t bucket) {
    const bool shards = options_.megatron.distributed_optimizer;
    return add_reduction(rank.rank(), {.op = shards ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce,
                                       .payload = {Payload::Kind::Gradients, bucket},
                                       .lane = reduce_lane(rank, bucket),
                                       .micro_batch = static_cast<std::uint32_t>(pipeline_.index.micro_batches - 1)});
  }

  void launch_buckets(const RankProgram& rank, const std::map<std::uint32_t, std::vector<std::uint32_t>>& buckets) {
    const std::vector<GradientPass>& passes = rank.passes();
    const bool overlap = options_.megatron.overlap_grad_reduce;
    std::vector<std::uint32_t> chunks = pipeline_.chunks_of(rank.rank());
    const bool aligned = overlap && request_.parallel.align_grad_reduce && several_chunks();
    // By chunk: the gradient pass that its reductions start after; passes.size() if after the whole row.
    std::map<std::uint32_t, std::size_t> launch;
    for (std::size_t i = 0; i < passes.size(); ++i)
      if (passes[i].last)
        launch[passes[i].chunk] = overlap ? std::min(passes.size(), i + (aligned ? rank.rank() : 0)) : passes.size();
    std::stable_sort(chunks.begin(), chunks.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return launch.at(a) < launch.at(b); });
    for (const std::uint32_t chunk : chunks)
      for (const std::uint32_t bucket : buckets.at(chunk)) {
        const std::size_t at = launch.at(chunk);
        const std::uint32_t reduced = add_bucket(rank, bucket);
        if (at == passes.size())
          gate_after_work(rank, rank.last_work(), transfer(reduced));
        else if (aligned)
          gate_after_work(rank, rank.at(passes[at].action).last, transfer(reduced));
        else
          gate_after_gradient(
              rank, rank.place(passes[at].kind, first_layer(plan_.blocks[bucket], profile_), passes[at].micro_batch),
              transfer(reduced));
      }
  }

  bool several_chunks() const { return pipeline_.chunks.size() > ranks_.size(); }

  // Gathers chunks in the order of their first forward passes, in each the bucket nearest to the input first. If
  // gathers overlap, each starts with the first work that reads the previous one. Experts have a list of their own.
  void gather_buckets(const RankProgram& rank, const std::map<std::uint32_t, std::vector<std::uint32_t>>& buckets,
                      bool experts) {
    const std::uint32_t lane = (experts ? expert_gather_lanes_ : gather_lanes_)[rank.rank()];
    std::vector<std::uint32_t> chunks = pipeline_.chunks_of(rank.rank());
    std::stable_sort(chunks.begin(), chunks.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return rank.first_forward(a) < rank.first_forward(b); });
    struct Gather {
      std::uint32_t transfer, reader;
    };
    std::vector<Gather> gathers;
    for (const std::uint32_t chunk : chunks) {
      const std::vector<std::uint32_t>& own = buckets.at(chunk);
      for (auto bucket = own.rbegin(); bucket != own.rend(); ++bucket)
        if (is_expert(rank, *bucket) == experts)
          gathers.push_back({add_gather(rank, *bucket, lane),
                             first_pass_of(rank, chunk, first_layer(plan_.blocks[*bucket], profile_))});
    }
    for (std::size_t i = 0; i < gathers.size(); ++i) {
      if (!overlap_gathers_) {
        gate(update_of(rank), transfer(gathers[i].transfer));
        gate_first_action(rank, gathers[i].transfer);
        continue;
      }
      gate(transfer(gathers[i].transfer), rank.point(gathers[i].reader));
      if (i == 0) {
        gate(update_of(rank), transfer(gathers[i].transfer));
      } else {
        gate(transfer(gathers[i - 1].transfer), transfer(gathers[i].transfer));
        gate(rank.point(gathers[i - 1].reader - 1), transfer(gathers[i].transfer));
      }
    }
  }

  bool overlap_gathers_ = false;
  std::vector<std::uint32_t> expert_gather_lanes_;  // by rank
};

}  // namespace

Plan pipelined_megatron(const PipelineRequest& request) { return PipelinedMegatron(request).make(); }

}  // namespace allreplay
