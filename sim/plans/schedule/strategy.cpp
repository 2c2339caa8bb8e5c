#include "sim/plans/schedule/strategy.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/plans/schedule/experts.hpp"
#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/muon.hpp"
#include "sim/plans/schedule/needs.hpp"
#include "sim/plans/schedule/offer.hpp"
#include "sim/plans/schedule/planners.hpp"
#include "sim/plans/schedule/unknown_name_hints.hpp"

namespace allreplay {

namespace {

// optimal-merge compares all runs of consecutive gradients.
double merges(const StrategyOptions&, double tensors) { return tensors * tensors / 2; }

// US-Byte's Algorithm 2 may make a whole schedule, with a heap, for every tensor.
double schedules(const StrategyOptions& options, double tensors) {
  return options.first_phase.kind == PhaseOrder::Kind::Paper ? tensors * tensors * std::log2(tensors + 1) : 0;
}

// MergeComp runs a dynamic programme over groups and runs; the search repeats it for each number of groups.
double groupings(const StrategyOptions& options, double tensors) {
  if (options.grouping == Grouping::Even) return 0;
  const double groups = std::min(static_cast<double>(options.groups), tensors), once = tensors * tensors / 2;
  return options.grouping == Grouping::Optimal ? groups * once : groups * (groups + 1) / 2 * once;
}

bool shares_the_optimizer(const StrategyOptions& options) { return options.megatron.distributed_optimizer; }

}  // namespace

Bytes Strategy::slices(const Profile& profile, const StrategyOptions& chosen) const {
  if (!partition.cuts() || profile.tensors.empty()) return 0;
  return profile.bytes() / chosen.partition.value_or(partition.of(profile));
}

Bytes Partition::of(const Profile& profile) const {
  return elements > 0 ? elements * bytes_of_gradient(profile) : bytes;
}

std::span<const Strategy> strategies() {
  static const std::vector<Strategy> all{
      {.name = "s-sgd",
       .look = {"S-SGD", 4},
       .summary = "plain synchronous SGD: every tensor separately, after the backward pass",
       .offer = offer_s_sgd,
       .schedule = schedule_s_sgd,
       .takes_experts = true},
      {.name = "wfbp",
       .look = {"WFBP", 0},
       .summary = "every tensor separately, as soon as it is ready (wait-free backpropagation)",
       .offer = offer_wfbp,
       .schedule = schedule_wfbp,
       .takes_experts = true},
      {"sync-easgd",
       {"SyncEASGD", 1},
       "all tensors in one collective after the backward pass, as in Sync EASGD",
       {},
       offer_sync_easgd,
       schedule_sync_easgd},
      {"mg-wfbp", {"MG-WFBP", 2}, "tensors merged by MG-WFBP's Algorithm 1, as printed", {}, {}, schedule_mg_wfbp},
      {.name = "optimal-merge",
       .look = {"Optimal merge", 3},
       .summary = "the best of all contiguous merges (dynamic programme)",
       .offer = offer_optimal_merge,
       .schedule = schedule_optimal_merge,
       .comparisons = merges},
      {.name = "ddp",
       .look = {"DDP", 5},
       .summary = "PyTorch DDP's buckets",
       .options = {"bucket_cap", "first_bucket"},
       .offer = offer_ddp,
       .schedule = schedule_ddp,
       .takes_experts = true},
      {.name = "horovod",
       .look = {"Horovod", 6},
       .summary = "Horovod's fusion of the tensors that are ready at each tick of its loop",
       .options = {"threshold", "cycle"},
       .offer = offer_horovod,
       .schedule = schedule_horovod,
       .threshold = horovod_threshold},
      {.name = "bytescheduler",
       .look = {"ByteScheduler", 7},
       .summary = "partitions by layer, the input side first, several in flight",
       .options = {"partition", "credit"},
       .offer = offer_bytescheduler,
       .schedule = schedule_bytescheduler,
       .partition = bytescheduler_partition,
       .barrier = Barrier::Layer},
      {.name = "us-byte",
       .look = {"US-Byte", 8},
       .summary = "unequal blocks in two phases, US-Byte's Algorithms 1 and 2",
       .options = {"partition", "first_phase", "second_phase"},
       .offer = offer_us_byte,
       .schedule = schedule_us_byte,
       .partition = bytescheduler_partition,
       .comparisons = schedules,
       .barrier = Barrier::Layer},
      {.name = "p3",
       .look = {"P3", 9},
       .summary = "small slices by layer, the input side first, one at a time",
       .options = {"partition"},
       .offer = offer_p3,
       .schedule = schedule_p3,
       .partition = p3_partition,
       .barrier = Barrier::Layer},
      {.name = "byteps",
       .look = {"BytePS", 19},
       .summary = "partitions of every tensor to parameter servers, in the order in which they become ready",
       .options = {"partition", "credit", "release"},
       .offer = offer_byteps,
       .schedule = schedule_byteps,
       .partition = byteps_partition,
       .collective = "parameter-server"},
      {.name = "dear",
       .look = {"DeAR", 10},
       .summary = "reduce-scatters in the backward pass, all-gathers in the next forward pass",
       .options = {"threshold"},
       .offer = offer_dear,
       .schedule = schedule_dear,
       .split = true,
       .threshold = dear_threshold,
       .barrier = Barrier::Layer,
       .in_pipelines = false},
      {.name = "mergecomp",
       .look = {"MergeComp", 11},
       .summary = "groups of tensors that are compressed and sent together, by MergeComp's Algorithm 2",
       .options = {"groups", "stop", "grouping"},
       .schedule = schedule_mergecomp,
       .decode_at = DecodeAt::Encode,
       .comparisons = groupings,
       .in_pipelines = false},
      {.name = "fsdp2",
       .look = {"FSDP2", 16},
       .summary = "PyTorch's fully_shard (2.4 and later): parameters gathered unit by unit",
       .options = {"wrap", "reshard", "reduce", "lanes", "prefetch", "reduce_buffers", "copy", "reduce_grad"},
       .offer = offer_fsdp2,
       .plan = plan_fsdp2,
       .sharded = {3, true},
       .takes_experts = true},
      {.name = "fsdp1",  // after its successor
       .look = {"FSDP1", 15},
       .summary = "PyTorch's FullyShardedDataParallel (1.11 to 2.x)",
       .options = {"wrap", "reshard", "backward_prefetch", "limit"},
       .offer = offer_fsdp1,
       .plan = plan_fsdp1,
       .sharded = {3, true}},
      {.name = "composer",
       .look = {"Composer", 20},
       .summary = "the FSDP of Composer and llm-foundry: fsdp1 with backward_prefetch=post",
       .options = {"wrap", "reshard", "limit"},
       .offer = offer_composer,
       .plan = plan_composer,
       .sharded = {3, true}},
      {.name = "simple-fsdp",
       .look = {"SimpleFSDP", 21},
       .summary = "torchtitan's SimpleFSDP: PyTorch's compiler buckets the collectives of blocks and moves them",
       .options = {"wrap", "reshard", "reorder", "lanes"},
       .offer = offer_simple_fsdp,
       .plan = plan_simple_fsdp,
       .sharded = {3, true},
       .source = "pytorch: torch/_inductor/fx_passes/overlap_manual_scheduling.py (022cd6e0); torchtitan: "
                 "torchtitan/experiments/graph_trainer/fsdp_passes.py (b5bcd76c)"},
      {.name = "zero-1",
       .look = {"ZeRO-1", 12},
       .summary = "DeepSpeed's ZeRO stage 1 (0.14 and later): buckets, then all parameters gathered",
       .options = {"reduce_bucket", "allgather_bucket", "overlap_comm", "bucket_op"},
       .offer = offer_zero1,
       .plan = plan_zero1,
       .sharded = {1}},
      {.name = "zero-2",
       .look = {"ZeRO-2", 13},
       .summary = "DeepSpeed's ZeRO stage 2: the same, in every micro-batch",
       .options = {"reduce_bucket", "allgather_bucket", "overlap_comm", "bucket_op"},
       .offer = offer_zero2,
       .plan = plan_zero2,
       .sharded = {2}},
      {.name = "zero-3",
       .look = {"ZeRO-3", 14},
       .summary = "DeepSpeed's ZeRO stage 3: layers gathered by the trace of the iteration before",
       .options = {"prefetch_bucket", "persistence", "max_live", "max_reuse", "reduce_bucket", "overlap_comm", "hpz",
                   "qwz", "qgz", "quantise"},
       .offer = offer_zero3,
       .plan = plan_zero3,
       .sharded = {3}},
      {.name = "megatron",
       .look = {"Megatron", 18},
       .summary = "Megatron-Core's DistributedDataParallel with its distributed optimizer, gathers in the forward pass",
       .options = {"bucket_size", "distributed_optimizer", "overlap_grad_reduce", "overlap_param_gather",
                   "align_grad_reduce"},
       .offer = offer_megatron,
       .plan = plan_megatron,
       .sharded = {1, true, shares_the_optimizer},
       .takes_experts = true},
      {.name = "megatron-fsdp",
       .look = {"Megatron-FSDP", 22},
       .summary = "Megatron-LM's Megatron-FSDP (optim_grads_params): units gathered ahead up to a number of elements",
       .options = {"wrap", "unit_size", "double_buffer", "lanes", "sync", "outer"},
       .offer = offer_megatron_fsdp,
       .plan = plan_megatron_fsdp,
       .sharded = {3, true},
       .source = "Megatron-LM: megatron/core/distributed/fsdp/src/megatron_fsdp/ (d98e8a64)"},
      {.name = "local-sgd",
       .look = {"Local SGD", 23},
       .summary = "local steps, then an average of all parameters",
       .options = {"sync_every", "replica"},
       .offer = offer_local_sgd,
       .plan = plan_local_sgd,
       .in_pipelines = false,
       .source = "torchft: torchft/local_sgd.py (7eb70878)",
       .local_steps = true},
      {.name = "diloco",
       .look = {"DiLoCo", 24},
       .summary = "local steps, and outer steps with averages of parts of the model in turn (Streaming DiLoCo)",
       .options = {"sync_every", "replica", "fragments", "delay", "outer_update", "bucket", "quantize", "backup",
                   "wrap"},
       .offer = offer_diloco,
       .plan = plan_diloco,
       .in_pipelines = false,
       .source = "torchft: torchft/local_sgd.py (7eb70878)",
       .local_steps = true},
      {"best",
       {"Best found", 17},
       "the best plan that a search finds among those without sharding, or at --zero's stage",
       {"partition", "credit", "bucket_cap", "first_bucket", "threshold", "cycle"},
       {},
       nullptr},
  };
  return all;
}

std::vector<std::string> names_of_all_strategies() {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies())
    if (!strategy.local_steps) names.emplace_back(strategy.name);
  return names;
}

void AddedStrategies::add(const std::string& name, Scheduling schedule) {
  const SourceLocation place{fmt::format("strategy '{}'", name), ""};
  if (row_named(strategies(), name)) throw InputError(place, "is the name of a built-in strategy", "another name");
  if (name == every_strategy) throw InputError(place, "means every strategy", "another name");
  const std::lock_guard guard(mutex_);
  auto latest = std::make_shared<const Scheduling>(std::move(schedule));
  for (Added& one : all_)
    if (one.name == name) {
      one.schedule = std::move(latest);
      return;
    }
  Added& one = all_.emplace_back(Added{name, std::move(latest), {}});
  one.row.name = one.name;
  one.row.summary = "added to the library";
  one.row.schedule = [this, &one](const PlanRequest& request) {
    std::unique_lock lock(mutex_);
    const auto planner = one.schedule;  // keeps it alive while it plans, even if it is replaced meanwhile
    lock.unlock();
    return (*planner)(request);
  };
}

const Strategy* AddedStrategies::find(std::string_view name) const {
  const std::lock_guard guard(mutex_);
  for (const Added& one : all_)
    if (one.name == name) return &one.row;
  return nullptr;
}

std::vector<std::string> AddedStrategies::names() const {
  const std::lock_guard guard(mutex_);
  return names_of(all_);
}

const Strategy& find_strategy(std::string_view name, const SourceLocation& place, const AddedStrategies* added) {
  if (const Strategy* known = row_named(strategies(), name)) return *known;
  if (const Strategy* one = added ? added->find(name) : nullptr) return *one;
  hint_at_non_strategy(name, place);
  std::vector<std::string> known = names_of(strategies());
  if (added)
    for (const std::string& one : added->names()) known.push_back(one);
  fail_with_nearest(name, known, place, "unknown strategy '{}'");
}

StrategyOptions with_defaults(const Strategy& strategy, StrategyOptions options, const Profile& profile) {
  if (strategy.partition.cuts() && !profile.tensors.empty())
    options.partition = options.partition.value_or(strategy.partition.of(profile));
  if (strategy.threshold > 0) options.threshold = options.threshold.value_or(strategy.threshold);
  options.first_bucket = options.first_bucket.value_or(options.bucket_cap.value_or(ddp_first_bucket));
  options.bucket_cap = options.bucket_cap.value_or(ddp_bucket_cap);
  return options;
}

namespace {

// Forms blocks separately of tensors of experts and of all others, if their gradients are reduced separately. Planners
// do not see frozen tensors.
BucketSchedule schedule_in_parts(const Strategy& strategy, const PlanRequest& request) {
  if (request.profile.tensors.empty()) return {};
  if (!request.options.sharding.has_expert_groups() && !request.profile.has_frozen()) return strategy.schedule(request);
  BucketSchedule whole;
  for (const PartOfTensors& part : parts_of_tensors(request.profile, request.options.sharding)) {
    if (part.ids.empty()) continue;
    BucketSchedule schedule =
        strategy.schedule({part.profile, request.cost, request.options, request.splits, request.workers});
    std::vector<Block> blocks = std::move(whole.blocks);
    for (Block& block : part.blocks_of_whole(std::move(schedule.blocks))) blocks.push_back(std::move(block));
    whole = std::move(schedule);
    whole.blocks = std::move(blocks);
  }
  return whole;
}

}  // namespace

BucketSchedule make_bucket_schedule(const Strategy& strategy, const PlanRequest& request) {
  BucketSchedule schedule = schedule_in_parts(strategy, request);
  schedule.split = schedule.split && request.splits;
  schedule.barrier = request.options.barrier.value_or(schedule.barrier);
  return schedule;
}

Plan make_plan(const Strategy& strategy, const PlanRequest& request) {
  const bool muon = request.options.muon.optimizer == StepOptimizer::Muon;
  if (strategy.plan) return muon ? with_muon(strategy.plan(request), request) : strategy.plan(request);
  BucketSchedule schedule = make_bucket_schedule(strategy, request);
  require_complete(schedule, request.profile);
  if (!muon) return expand(std::move(schedule), request.profile, request.options.sharding);
  Profile updated = request.profile;  // with an update, which Newton-Schulz follows
  updated.update = std::max(updated.update.value_or(Time(0)), Time(1));
  return with_muon(expand(std::move(schedule), updated, request.options.sharding), request);
}

}  // namespace allreplay
