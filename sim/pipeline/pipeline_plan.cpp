#include "sim/pipeline/pipeline_plan.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "sim/pipeline/planned.hpp"
#include "sim/pipeline/rank_programs.hpp"
#include "sim/schedule/fsdp.hpp"
#include "sim/schedule/gradients.hpp"
#include "sim/schedule/megatron.hpp"
#include "sim/schedule/plan_builder.hpp"

namespace allreplay {

namespace {

// The schedule that a strategy of blocks makes of a chunk, with the tensors of the whole.
BucketSchedule schedule_of_chunk(const PipelineRequest& request, std::uint32_t chunk, WorkKind pass) {
  const Chunk& layers = request.pipeline.chunks[chunk];
  std::vector<Time> backward;
  const std::vector<Time> weights = request.profile.weight_times();
  for (LayerId layer = 0; layer < request.profile.layers.size(); ++layer)
    backward.push_back(pass == WorkKind::BackwardWeight ? weights[layer] : request.profile.layers[layer].backward);
  const Profile part = profile_of_chunk(request.profile, layers, backward);
  if (part.tensors.empty()) return {};
  BucketSchedule schedule = make_bucket_schedule(
      request.strategy, {part, request.cost, request.options, true, request.pipeline.degrees.of_gradients()});
  const TensorId first = first_tensor(request.profile, layers);
  for (Block& block : schedule.blocks)
    for (Slice& slice : block.slices) slice.tensor += first;
  return schedule;
}

class PipelinePlanner {
 public:
  explicit PipelinePlanner(const PipelineRequest& request)
      : request_(request),
        pipeline_(request.pipeline),
        profile_(request.profile),
        options_(request.options),
        barrier_(request.options.barrier.value_or(request.strategy.barrier)) {
    plan_.strategy = request.strategy.name;
    plan_.sharding = options_.sharding;
    const Degrees& degrees = pipeline_.degrees;
    plan_.pipeline = {degrees.tp, degrees.cp, degrees.ep, request.parallel.schedule, {}, barrier_};
    for (const Chunk& chunk : pipeline_.chunks) plan_.pipeline->layers.push_back(chunk.layers());
    plan_.groups.clear();
    plan_.roles.clear();
    plan_.together = request.parallel.update_barrier.value_or(
                         barrier_ == Barrier::Layer ? UpdateBarrier::Stage : UpdateBarrier::All) == UpdateBarrier::All;
    blocking_ = request.parallel.p2p == P2p::Blocking;
  }

  Plan make() {
    if (request_.strategy.schedule)
      plan_blocks();
    else if (request_.strategy.name == "megatron")
      plan_megatron();
    else
      plan_fsdp2();
    for (RankProgram& rank : ranks_) plan_.roles[rank.rank()].program = std::move(rank.works);
    set_channels(plan_);
    return std::move(plan_);
  }

 private:
  // --- what all plans have: programs, groups, sends
  // -------------------------------------------------------------------

  void begin(const ProgramShape& shape) {
    const Degrees& degrees = pipeline_.degrees;
    for (std::uint32_t rank = 0; rank < pipeline_.ranks(); ++rank) {
      plan_.groups.push_back({fmt::format("data {}", rank), degrees.gradients(rank)});
      Role& role = plan_.roles.emplace_back(Role{fmt::format("rank {}", rank), {}});
      for (std::int64_t i = 0; i < degrees.of_rank(); ++i) role.workers.push_back(rank * degrees.of_rank() + i);
      ranks_.emplace_back(pipeline_, rank, profile_, shape);
    }
    last_exchange_.resize(ranks_.size());
    reductions_.resize(ranks_.size());
  }

  std::uint32_t add_lane(std::string name, const QueueingPolicy& queueing) {
    plan_.lanes.push_back({std::move(name), queueing.order, queueing.window, queueing.tick});
    return static_cast<std::uint32_t>(plan_.lanes.size() - 1);
  }
  static QueueingPolicy as_listed() { return {.order = Order::AsListed}; }

  std::uint32_t add(Transfer one) {
    plan_.transfers.push_back(one);
    return static_cast<std::uint32_t>(plan_.transfers.size() - 1);
  }
  void gate(const PlanPoint& before, const PlanPoint& after, bool next = false) {
    plan_.gates.push_back({before, after, next});
  }
  // What waits for the row's last work waits for its last exchange, too.
  void gate_after_work(const RankProgram& rank, std::uint32_t place, const PlanPoint& after) {
    gate(rank.point(place), after);
    if (place == rank.last_work() && last_exchange_[rank.rank()]) gate(transfer(*last_exchange_[rank.rank()]), after);
  }

  PlanPoint update_of(const RankProgram& rank) const { return rank.point(0); }

  // A send, as its row issues it.
  struct PendingSend {
    std::uint32_t from = 0, to = 0;  // ranks
    std::uint32_t chunk = 0, micro_batch = 0;
    double bytes = 0;
    ActionPlace sent_after, awaited_by;
  };

  std::vector<PendingSend> sends_of(std::uint32_t rank) const {
    const RowIndex& index = pipeline_.index;
    const bool said = has(pipeline_.rows, ActionKind::SendForward) || has(pipeline_.rows, ActionKind::SendBackward);
    std::vector<PendingSend> sends;
    for (const Action& one : pipeline_.rows[rank]) {
      const bool forward = one.kind == (said ? ActionKind::SendForward : ActionKind::Forward);
      if (!forward && !(said ? one.kind == ActionKind::SendBackward : hands_back(one.kind))) continue;
      if (forward ? one.chunk + 1 == index.chunks() : one.chunk == 0) continue;
      const std::uint32_t other = forward ? one.chunk + 1 : one.chunk - 1;
      if (index.rank_of[other] == rank) continue;
      const std::size_t here = index.at(one.chunk, one.micro_batch), there = index.at(other, one.micro_batch);
      sends.push_back({rank, index.rank_of[other], one.chunk, one.micro_batch,
                       request_.sends[forward ? one.chunk : other],
                       (forward ? index.forward_sends : index.backward_sends)[here],
                       (forward ? index.forwards : index.hand_backs)[there]});
    }
    return sends;
  }

  void add_sends() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> lanes;  // by sender and receiver
    std::vector<std::uint32_t> transfers;
    std::vector<PendingSend> all;
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
      for (const PendingSend& one : sends_of(rank)) {
        const auto [lane, fresh] = lanes.emplace(std::pair(one.from, one.to), 0);
        if (fresh) {
          lane->second = add_lane(fmt::format("{} to {}", one.from, one.to), {});
          groups_of_pairs_[{one.from, one.to}] = add_pairs(one.from, one.to);
        }
        all.push_back(one);
        transfers.push_back(add({.op = CollectiveOp::Send,
                                 .group = groups_of_pairs_.at({one.from, one.to}),
                                 .payload = {Payload::Kind::Activations},
                                 .bytes = one.bytes,
                                 .lane = lane->second,
                                 .micro_batch = one.micro_batch}));
      }
    if (blocking_)
      exchange(all, transfers);
    else
      for (std::size_t i = 0; i < all.size(); ++i) {
        const RankProgram &from = ranks_[all[i].from], &to = ranks_[all[i].to];
        gate(from.point(from.at(all[i].sent_after.index).last), transfer(transfers[i]));
        gate(transfer(transfers[i]), to.point(to.at(all[i].awaited_by.index).start));
      }
  }

  std::uint32_t add_pairs(std::uint32_t from, std::uint32_t to) {
    plan_.groups.push_back({fmt::format("{} to {}", from, to), pipeline_.degrees.pairs(from, to)});
    return static_cast<std::uint32_t>(plan_.groups.size() - 1);
  }

  // Megatron's exchanges: between two actions the stream waits for what the first sends and the second receives. Both
  // are posted at once between a forward and a backward pass, else the send first, and the receipt when it has ended.
  void exchange(const std::vector<PendingSend>& sends, const std::vector<std::uint32_t>& transfers) {
    // By rank and action: what it sends when it ends, and what it waits for.
    std::vector<std::map<std::uint32_t, std::uint32_t>> sent(ranks_.size()), received(ranks_.size());
    for (std::size_t i = 0; i < sends.size(); ++i) {
      sent[sends[i].from][sends[i].sent_after.index] = transfers[i];
      received[sends[i].to][sends[i].awaited_by.index] = transfers[i];
    }
    for (const RankProgram& rank : ranks_) {
      const auto& own = sent[rank.rank()];
      const auto& awaited = received[rank.rank()];
      std::optional<std::uint32_t> before;  // the action before
      const auto sent_by = [&]() -> std::optional<std::uint32_t> {
        const auto found = before ? own.find(*before) : own.end();
        return found == own.end() ? std::nullopt : std::optional(found->second);
      };
      for (const std::uint32_t action : rank.actions()) {
        const PlanPoint entry = rank.point(rank.at(action).entry);
        const auto sends_now = sent_by();
        if (sends_now) gate(transfer(*sends_now), entry);
        if (const auto waits = awaited.find(action); waits != awaited.end()) {
          gate(transfer(waits->second), entry);
          const bool alike = before && (rank.row()[*before].kind == ActionKind::Forward) ==
                                           (rank.row()[action].kind == ActionKind::Forward);
          if (alike && sends_now)
            gate(transfer(*sends_now), transfer(waits->second));
          else if (before)
            gate(rank.point(rank.at(*before).last), transfer(waits->second));
          else
            first_receipts_.push_back({rank.rank(), waits->second});
        }
        before = action;
        if (const auto now = sent_by()) gate(rank.point(rank.at(action).last), transfer(*now));
      }
      last_exchange_[rank.rank()] = sent_by();
    }
  }

  // The first receipt is posted once the update, and what the whole first action waits for, have ended. Where there is
  // no update at the start, when the iteration before has.
  void post_first_receipts(bool update_at_start) {
    for (const auto& [rank, receipt] : first_receipts_) {
      const RankProgram& program = ranks_[rank];
      if (update_at_start)
        gate(update_of(program), transfer(receipt));
      else
        gate(program.point(program.last_work()), transfer(receipt), true);
    }
  }

  // A gather that the rank's first action waits for, whole.
  void gate_first_action(const RankProgram& rank, std::uint32_t gather) {
    gate(transfer(gather), rank.point(rank.at(rank.actions().front()).entry));
    for (const auto& [other, receipt] : first_receipts_)
      if (other == rank.rank()) gate(transfer(gather), transfer(receipt));
  }

  // The rest of what an iteration waits for: tied gradients and, without a barrier among all, what a rank's update
  // does.
  void finish(bool update_at_start) {
    post_first_receipts(update_at_start);
    add_tied();
    if (plan_.together) return;
    for (const RankProgram& rank : ranks_) {
      const PlanPoint first = rank.point(0);
      if (last_exchange_[rank.rank()]) gate(transfer(*last_exchange_[rank.rank()]), first, true);
      if (!update_at_start) continue;
      for (const std::uint32_t one : reductions_[rank.rank()]) gate(transfer(one), first, true);
    }
  }

  void add_tied() {
    if (!profile_.tied) return;
    const auto rank_of = [&](TensorId tensor) { return rank_of_layer(pipeline_, profile_.tensors[tensor].layer); };
    const std::uint32_t one = rank_of(profile_.tied->first), other = rank_of(profile_.tied->second);
    if (one == other) return;
    const std::uint32_t tied = add({.op = CollectiveOp::AllReduce,
                                    .group = add_pairs(one, other),
                                    .payload = {Payload::Kind::Gradients},
                                    .bytes = static_cast<double>(profile_.tensors[profile_.tied->first].bytes),
                                    .lane = add_lane("tied", {})});
    for (const std::uint32_t end : {one, other}) {
      gate_after_work(ranks_[end], ranks_[end].last_work(), transfer(tied));
      for (const std::uint32_t reduced : reductions_[end]) gate(transfer(reduced), transfer(tied));
      if (!plan_.together) gate(transfer(tied), update_of(ranks_[end]), true);
    }
  }

  std::uint32_t add_reduction(std::uint32_t rank, Transfer one) {
    one.group = rank;
    const std::uint32_t index = add(one);
    reductions_[rank].push_back(index);
    return index;
  }

  WireBytes bytes_of(const Payload& payload, std::uint32_t rank) const {
    return wire_bytes(plan_, rank, payload, profile_);
  }

  // --- strategies of blocks
  // -------------------------------------------------------------------------------------------

  struct ChunkBlocks {
    QueueingPolicy queueing;
    std::uint32_t first = 0, count = 0;  // of the plan's blocks
  };

  void plan_blocks() {
    const bool shards = options_.sharding.shards_optimizer();
    // How blocks travel is the strategy's, and alike for all chunks: a chunk without tensors says nothing.
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
    }
    add_sends();
    for (const RankProgram& rank : ranks_) {
      reduce_blocks(rank, blocks);
      if (shards) gather_blocks(rank, blocks);
    }
    finish(!by_layer);
  }

  WorkKind last_pass_of(std::uint32_t chunk) const {
    const ActionRow& row = pipeline_.rows[pipeline_.index.rank_of[chunk]];
    const auto last = std::find_if(row.rbegin(), row.rend(),
                                   [&](const Action& one) { return one.chunk == chunk && makes_gradients(one.kind); });
    return last->kind == ActionKind::Backward ? WorkKind::Backward : WorkKind::BackwardWeight;
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
                     .lane = reduce_lanes_[rank.rank()],
                     .priority = priority_of(pass, index, own),
                     .micro_batch = pass.micro_batch};
        one.bytes = bytes_of(one.payload, rank.rank());
        if (own.queueing.tick > Time(0))
          one.ticks_from = WorkPoint{rank.place(WorkKind::Mark, pass.chunk, pass.micro_batch), rank.rank()};
        const std::uint32_t reduced = add_reduction(rank.rank(), one);
        const std::uint32_t made = own.queueing.release == Release::Backward
                                       ? rank.at(pass.action).last
                                       : rank.place(pass.kind, layer, pass.micro_batch);
        gate_after_work(rank, made, transfer(reduced));
        if (shards || barrier_ == Barrier::Iteration) continue;
        const auto update = rank.find(WorkKind::Update, layer, 0);
        gate(transfer(reduced), rank.point(update ? *update : first_pass_of(rank, pass.chunk, layer)), true);
      }
    }
  }

  // By layer: the pass's number, then the chunk's own order.
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

  // Of the layer, in the first forward pass of its chunk.
  std::uint32_t first_pass_of(const RankProgram& rank, std::uint32_t chunk, LayerId layer) const {
    return rank.place(WorkKind::Forward, layer, rank.row()[rank.first_forward(chunk)].micro_batch);
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

  std::uint32_t add_gather(const RankProgram& rank, std::uint32_t block, std::uint32_t lane) {
    const Payload payload{Payload::Kind::Parameters, block};
    return add({.op = CollectiveOp::AllGather,
                .group = rank.rank(),
                .payload = payload,
                .bytes = bytes_of(payload, rank.rank()),
                .lane = lane});
  }

  // --- Megatron's buckets
  // ---------------------------------------------------------------------------------------------

  // A chunk's buckets, in backward order, as blocks of the plan.
  std::vector<std::uint32_t> add_buckets(std::uint32_t chunk, std::int64_t least) {
    const Chunk& layers = pipeline_.chunks[chunk];
    const Profile part = profile_of_chunk(profile_, layers, std::vector<Time>(profile_.layers.size()));
    const TensorId first = first_tensor(profile_, layers);
    std::vector<std::uint32_t> buckets;
    for (Block& bucket : megatron_buckets(part, least)) {
      for (Slice& slice : bucket.slices) slice.tensor += first;
      buckets.push_back(static_cast<std::uint32_t>(plan_.blocks.size()));
      plan_.blocks.push_back(std::move(bucket));
    }
    return buckets;
  }

  void plan_megatron() {
    const MegatronOptions& options = options_.megatron;
    overlap_gathers_ = overlaps_gathers(options);
    plan_.sharding.zero = options.distributed_optimizer ? 1 : 0;
    begin({});
    const std::int64_t least =
        options.overlap_grad_reduce ? megatron_bucket_size(options, pipeline_.degrees.of_gradients()) : 0;
    std::map<std::uint32_t, std::vector<std::uint32_t>> buckets;
    for (const RankProgram& rank : ranks_) {
      bool first = rank.rank() == 0;
      for (const std::uint32_t chunk : pipeline_.chunks_of(rank.rank()))
        buckets[chunk] = add_buckets(chunk, std::exchange(first, false) ? least : 0);
      gather_lanes_.push_back(add_lane(fmt::format("gather {}", rank.rank()), as_listed()));
      reduce_lanes_.push_back(add_lane(fmt::format("reduce {}", rank.rank()), as_listed()));
    }
    add_sends();
    for (const RankProgram& rank : ranks_) {
      launch_buckets(rank, buckets);
      if (options.distributed_optimizer) gather_buckets(rank, buckets);
    }
    finish(true);
  }

  void reduce_bucket(const RankProgram& rank, std::uint32_t bucket, std::uint32_t launched) {
    const bool shards = options_.megatron.distributed_optimizer;
    Transfer one{.op = shards ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce,
                 .payload = {Payload::Kind::Gradients, bucket},
                 .lane = reduce_lanes_[rank.rank()],
                 .micro_batch = static_cast<std::uint32_t>(pipeline_.index.micro_batches - 1)};
    one.bytes = bytes_of(one.payload, rank.rank());
    gate_after_work(rank, launched, transfer(add_reduction(rank.rank(), one)));
  }

  void launch_buckets(const RankProgram& rank, const std::map<std::uint32_t, std::vector<std::uint32_t>>& buckets) {
    const std::vector<GradientPass>& passes = rank.passes();
    const bool overlap = options_.megatron.overlap_grad_reduce;
    std::vector<std::uint32_t> chunks = pipeline_.chunks_of(rank.rank());
    const bool aligned = overlap && request_.parallel.align_grad_reduce && several_chunks();
    // By chunk: after which of the gradient passes; none: when the row has ended.
    std::map<std::uint32_t, std::size_t> launch;
    for (std::size_t i = 0; i < passes.size(); ++i)
      if (passes[i].last)
        launch[passes[i].chunk] = overlap ? std::min(passes.size(), i + (aligned ? rank.rank() : 0)) : passes.size();
    std::stable_sort(chunks.begin(), chunks.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return launch.at(a) < launch.at(b); });
    for (const std::uint32_t chunk : chunks)
      for (const std::uint32_t bucket : buckets.at(chunk)) {
        const std::size_t at = launch.at(chunk);
        if (at == passes.size())
          reduce_bucket(rank, bucket, rank.last_work());
        else if (aligned)
          reduce_bucket(rank, bucket, rank.at(passes[at].action).last);
        else
          reduce_bucket(
              rank, bucket,
              rank.place(passes[at].kind, first_layer(plan_.blocks[bucket], profile_), passes[at].micro_batch));
      }
  }

  bool several_chunks() const { return pipeline_.chunks.size() > ranks_.size(); }

  // The chunks in the order of their first forward passes, in each the input's bucket first, one ahead.
  void gather_buckets(const RankProgram& rank, const std::map<std::uint32_t, std::vector<std::uint32_t>>& buckets) {
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
        gathers.push_back({add_gather(rank, *bucket, gather_lanes_[rank.rank()]),
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

  // --- FSDP, as PyTorch's pipeline runtime drives it
  // ------------------------------------------------------------------

  // What a row says of parameters, or would.
  ActionRow with_parameter_words(const RankProgram& rank) const {
    const ActionRow& row = rank.row();
    const bool unshards = has(pipeline_.rows, ActionKind::Unshard),
               reduces = has(pipeline_.rows, ActionKind::ReduceGrad);
    ActionRow full;
    if (!unshards)
      for (const Action& one : row)
        if (computes(one.kind) &&
            std::none_of(full.begin(), full.end(), [&](const Action& other) { return other.chunk == one.chunk; }))
          full.push_back({ActionKind::Unshard, one.chunk});
    for (std::uint32_t i = 0; i < row.size(); ++i) {
      full.push_back(row[i]);
      const auto last = std::find_if(rank.passes().begin(), rank.passes().end(),
                                     [&](const GradientPass& pass) { return pass.action == i && pass.last; });
      if (!reduces && last != rank.passes().end()) full.push_back({ActionKind::ReduceGrad, row[i].chunk});
    }
    return full;
  }

  void plan_fsdp2() {
    plan_.sharding.zero = 3;
    plan_.memory_policy.parameter = plan_.memory_policy.gradient = 4;  // fp32 shards, whatever travels
    plan_.memory_policy.whole_gradients = true;
    begin({});
    std::vector<std::vector<std::uint32_t>> units(pipeline_.chunks.size());  // blocks, by chunk
    for (std::uint32_t chunk = 0; chunk < pipeline_.chunks.size(); ++chunk) units[chunk] = add_units(chunk);
    const bool separate = options_.fsdp.separate_lanes;
    for (const RankProgram& rank : ranks_) {
      const std::uint32_t number = rank.rank();
      gather_lanes_.push_back(
          add_lane(fmt::format("{} {}", separate ? "gather" : "gather and reduce", number), as_listed()));
      reduce_lanes_.push_back(separate ? add_lane(fmt::format("reduce {}", number), as_listed())
                                       : gather_lanes_.back());
    }
    add_sends();
    for (const RankProgram& rank : ranks_) drive_units(rank, units);
    finish(true);
  }

  std::vector<std::uint32_t> add_units(std::uint32_t chunk) {
    const Chunk& layers = pipeline_.chunks[chunk];
    const Profile part = profile_of_chunk(profile_, layers, std::vector<Time>(profile_.layers.size()));
    std::vector<std::uint32_t> blocks;
    for (const Unit& unit : units_of(part, options_.fsdp.wrap)) {
      Block block;
      for (LayerId layer = unit.first; layer <= unit.last; ++layer)
        for (const Slice& slice : block_of_layer(layers.first + layer, profile_).slices) block.slices.push_back(slice);
      unit_of_block_.resize(plan_.blocks.size() + 1);
      unit_of_block_.back() = {layers.first + unit.first, layers.first + unit.last};
      plan_.memory_policy.units.push_back(unit_of_block_.back());
      if (block.slices.empty()) continue;
      blocks.push_back(static_cast<std::uint32_t>(plan_.blocks.size()));
      plan_.blocks.push_back(std::move(block));
    }
    return blocks;
  }

  // Walks along a row: what computes stands in the program; the words between issue gathers and reductions.
  void drive_units(const RankProgram& rank, const std::vector<std::vector<std::uint32_t>>& units) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> gathered;  // by chunk: gathers that no action has waited for
    std::map<std::uint32_t, std::vector<std::uint32_t>> held;      // those of parameters that are there
    std::vector<std::uint32_t> awaited;                            // reductions that the next action waits for
    std::uint32_t end = 0;                                         // the work that has ended last: first the update
    std::size_t next = 0;                                          // of the rank's actions
    const bool said = has(pipeline_.rows, ActionKind::Unshard);
    const auto free = [&](std::uint32_t chunk, std::uint32_t place) {
      for (const std::uint32_t one : held[chunk]) plan_.transfers[one].held_until = WorkPoint{place, rank.rank()};
      held.erase(chunk);
    };
    for (const Action& one : with_parameter_words(rank)) {
      if (one.kind == ActionKind::Unshard) {
        for (const std::uint32_t block : units[one.chunk]) {
          const std::uint32_t gather = add_gather(rank, block, gather_lanes_[rank.rank()]);
          gate(rank.point(end), transfer(gather));
          gathered[one.chunk].push_back(gather);
          held[one.chunk].push_back(gather);
        }
      } else if (one.kind == ActionKind::ReduceGrad) {
        for (const std::uint32_t block : units[one.chunk]) {
          Transfer reduction{.op = CollectiveOp::ReduceScatter,
                             .payload = {Payload::Kind::Gradients, block},
                             .lane = reduce_lanes_[rank.rank()],
                             .micro_batch = static_cast<std::uint32_t>(pipeline_.index.micro_batches - 1)};
          reduction.bytes = bytes_of(reduction.payload, rank.rank());
          const std::uint32_t reduced = add_reduction(rank.rank(), reduction);
          gate_after_work(rank, end, transfer(reduced));
          if (request_.parallel.reduce_grad_waits) awaited.push_back(reduced);
        }
      } else if (one.kind == ActionKind::Reshard) {
        free(one.chunk, end);
      } else if (computes(one.kind)) {
        const Placed& placed = rank.at(rank.actions()[next++]);
        for (const std::uint32_t reduced : awaited) gate(transfer(reduced), rank.point(placed.entry));
        awaited.clear();
        const WorkKind kind = rank.works[placed.last].kind;
        for (const std::uint32_t gather : gathered[one.chunk]) {
          const Unit& unit = unit_of_block_[plan_.transfers[gather].payload.block];
          const LayerId layer = kind == WorkKind::Forward ? unit.first : unit.last;
          gate(transfer(gather), rank.point(rank.place(kind, layer, one.micro_batch)));
        }
        gathered[one.chunk].clear();
        end = placed.last;
        const GradientPass* last = last_pass(rank, one.chunk);
        if (!said && &placed == &rank.at(last->action)) free(one.chunk, end);
      }
    }
    for (auto chunks = pipeline_.chunks_of(rank.rank()); const std::uint32_t chunk : chunks)
      free(chunk, rank.last_work());
  }

  static const GradientPass* last_pass(const RankProgram& rank, std::uint32_t chunk) {
    return &*std::find_if(rank.passes().begin(), rank.passes().end(),
                          [&](const GradientPass& pass) { return pass.chunk == chunk && pass.last; });
  }

  const PipelineRequest& request_;
  const Pipeline& pipeline_;
  const Profile& profile_;
  const StrategyOptions& options_;
  Barrier barrier_;
  bool blocking_ = false, overlap_gathers_ = false;
  Plan plan_;
  std::vector<RankProgram> ranks_;
  std::vector<std::uint32_t> gather_lanes_, reduce_lanes_;  // by rank
  std::vector<std::vector<std::uint32_t>> reductions_;      // by rank
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> groups_of_pairs_;
  std::vector<std::optional<std::uint32_t>> last_exchange_;              // by rank: the send behind its last action
  std::vector<std::pair<std::uint32_t, std::uint32_t>> first_receipts_;  // rank, transfer
  std::map<std::uint32_t, std::vector<std::int64_t>> priorities_;        // by chunk: of its blocks
  std::vector<Unit> unit_of_block_;                                      // fsdp2
};

}  // namespace

Plan pipeline_plan(const PipelineRequest& request) { return PipelinePlanner(request).make(); }

}  // namespace allreplay
