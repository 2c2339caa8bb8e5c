#include "sim/plans/schedule/offer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/planners.hpp"
#include "sim/plans/schedule/units.hpp"

namespace allreplay {

namespace {

double mib(Bytes bytes) { return static_cast<double>(bytes) / (1 << 20); }
double megabytes(Bytes bytes) { return static_cast<double>(bytes) / 1e6; }

// ByteScheduler and P3 count parameters, not bytes.
Bytes parameters(const Profile& profile, Bytes bytes) { return std::max<Bytes>(1, bytes / bytes_of_gradient(profile)); }

Bytes in_whole_elements(const Profile& profile, Bytes bytes) {
  return parameters(profile, bytes) * bytes_of_gradient(profile);
}

// ByteScheduler counts its credit in elements, too.
StrategyOptions in_elements(StrategyOptions options, const Profile& profile) {
  const Bytes partition = options.partition.value_or(bytescheduler_partition.of(profile));
  Window& credit = options.credit;
  if (credit.bytes == Window::unlimited) credit = {.count = Window::unlimited, .bytes = partition * credit.count};
  options.partition = in_whole_elements(profile, partition);
  credit.bytes = in_whole_elements(profile, credit.bytes);
  return options;
}

// DistributedDataParallel has no setting for the cap of the first bucket.
StrategyOptions of_one_cap(StrategyOptions options, const Profile&) {
  options.first_bucket.reset();
  return options;
}

StrategyOptions whole_slices(StrategyOptions options, const Profile& profile) {
  if (options.partition) options.partition = in_whole_elements(profile, *options.partition);
  return options;
}

std::string no_overlap(const StrategyOptions&, const Profile&) { return "no overlap"; }
std::string no_fusion(const StrategyOptions&, const Profile&) { return "no fusion"; }
std::string one_all_reduce(const StrategyOptions&, const Profile&) { return "one all-reduce of everything"; }

std::string ddp(const StrategyOptions& options, const Profile&) {
  std::string text = options.bucket_cap
                         ? fmt::format("DistributedDataParallel(model, bucket_cap_mb={})", mib(*options.bucket_cap))
                         : "DistributedDataParallel(model)";
  if (options.sharding.accumulate > 1)
    text +=
        fmt::format("\nwith model.no_sync() if micro_batch < {} else nullcontext():", options.sharding.accumulate - 1);
  return text;
}

std::string horovod(const StrategyOptions& options, const Profile&) {
  return fmt::format("HOROVOD_FUSION_THRESHOLD={} HOROVOD_CYCLE_TIME={}", options.threshold.value_or(horovod_threshold),
                     static_cast<double>(options.cycle.count()) / 1e9);
}

std::string bytescheduler(const StrategyOptions& options, const Profile& profile) {
  const StrategyOptions exact = in_elements(options, profile);
  return fmt::format("BYTESCHEDULER_PARTITION={} BYTESCHEDULER_CREDIT={}", parameters(profile, *exact.partition),
                     parameters(profile, exact.credit.bytes));
}

std::string us_byte(const StrategyOptions& options, const Profile&) {
  return fmt::format("basic partition S_p of {} MB",
                     megabytes(options.partition.value_or(bytescheduler_partition.bytes)));
}

std::string p3(const StrategyOptions& options, const Profile& profile) {
  return fmt::format("kvstore dist_p3, MXNET_KVSTORE_SLICE_THRESHOLD={}",
                     parameters(profile, options.partition.value_or(p3_partition.of(profile))));
}

// BytePS's own credit limits only sums inside a node, so it has no setting for another credit or for release=backward.
std::string byteps(const StrategyOptions& options, const Profile&) {
  const StrategyOptions own;
  const Window& credit = options.credit;
  if (credit.count != own.credit.count || credit.bytes != own.credit.bytes || options.release != own.release) return "";
  return fmt::format("BYTEPS_PARTITION_BYTES={}", options.partition.value_or(byteps_partition.bytes));
}

std::string dear(const StrategyOptions& options, const Profile&) {
  return fmt::format("fusion threshold of {} MB", megabytes(options.threshold.value_or(dear_threshold)));
}

// Words for the modules that fully_shard is called for: one of them, and all.
struct Wrapped {
  std::string one, all;
};
Wrapped wrapped(const Wrap& wrap, const Profile& profile) {
  if (wrap.by == Wrap::By::Size) return {"part", fmt::format("parts_of_{}_bytes", wrap.size)};
  return wrap.by == Wrap::By::Layer || !has_groups(profile) ? Wrapped{"layer", "layers"} : Wrapped{"block", "blocks"};
}

// Hybrid sharding uses a two-dimensional mesh: groups, and ranks within a group.
std::string mesh(const ShardingConfig& sharding) {
  if (sharding.shard_group == 0) return "";
  return fmt::format(
      "mesh = init_device_mesh(\"cuda\", (world_size // {0}, {0}), mesh_dim_names=(\"replicate\", \"shard\"))\n",
      sharding.shard_group);
}

std::string dtype(Bytes bytes, const Profile& profile) {
  return bytes == 4 ? "torch.float32" : profile.precision == "fp16" ? "torch.float16" : "torch.bfloat16";
}

Bytes parameter_bytes(const Profile& profile) {
  return profile.parameter_bytes > 0 ? profile.parameter_bytes : bytes_of_gradient(profile);
}

// Empty if everything is fp32, PyTorch's default.
std::string mixed_precision(std::string_view type, const Profile& profile) {
  const Bytes gradient = bytes_of_gradient(profile), parameter = parameter_bytes(profile);
  if (gradient == 4 && parameter == 4) return "";
  return fmt::format("policy = {}(param_dtype={}, reduce_dtype={})\n", type, dtype(parameter, profile),
                     dtype(gradient, profile));
}

// Calls before each micro-batch that postpone reductions to the last one.
std::string last_reduction(const StrategyOptions& options) {
  const Reduce reduce = options.fsdp.reduce;
  const std::int64_t last = options.sharding.accumulate - 1;
  if (last == 0 || reduce == Reduce::Every) return "";
  if (reduce == Reduce::Last) return fmt::format("\nmodel.set_requires_gradient_sync(micro_batch == {})", last);
  if (options.sharding.shard_group == 0) return "";
  return fmt::format("\nmodel.set_requires_all_reduce(micro_batch == {})", last);
}

std::string fsdp2(const StrategyOptions& options, const Profile& profile) {
  const Reshard reshard = options.fsdp.reshard.value_or(Reshard::ButLast);
  const auto [one, all] = wrapped(options.fsdp.wrap, profile);
  const std::string grid = mesh(options.sharding), policy = mixed_precision("MixedPrecisionPolicy", profile);
  const std::string with =
      std::string(grid.empty() ? "" : ", mesh=mesh") + (policy.empty() ? "" : ", mp_policy=policy");
  // By default, all parameters except the root's are freed.
  const std::string kept = reshard == Reshard::None ? ", reshard_after_forward=False" : "",
                    root = reshard == Reshard::All ? ", reshard_after_forward=True" : kept;
  std::string text = fmt::format("{0}{1}for {2} in {3}:\n    fully_shard({2}{4}{5})\nfully_shard(model{4}{6})", grid,
                                 policy, one, all, with, kept, root);
  if (options.fsdp.prefetch > 1)
    text += fmt::format(
        "\nfor i, {0} in enumerate({1}):\n    {0}.set_modules_to_forward_prefetch({1}[i + 1:i + {3}])\n"
        "    {0}.set_modules_to_backward_prefetch({1}[max(0, i - {2}):i][::-1])",
        one, all, options.fsdp.prefetch, options.fsdp.prefetch + 1);
  return text + last_reduction(options);
}

std::string fsdp1(const StrategyOptions& options, const Profile& profile) {
  const bool whole = options.fsdp.reshard == Reshard::None;
  const std::string grid = mesh(options.sharding), policy = mixed_precision("MixedPrecision", profile);
  constexpr std::string_view prefetches[] = {"BACKWARD_PRE", "BACKWARD_POST", ""};
  const std::string_view prefetch = prefetches[static_cast<std::size_t>(options.fsdp.backward_prefetch)];
  const Wrap& wrap = options.fsdp.wrap;
  const std::string units =
      wrap.by == Wrap::By::Size
          ? fmt::format("partial(size_based_auto_wrap_policy, min_num_params={})",
                        (wrap.size + parameter_bytes(profile) - 1) / parameter_bytes(profile))
          : fmt::format("ModuleWrapPolicy({{{}}})", wrapped(wrap, profile).one == "block" ? "Block" : "Layer");
  return fmt::format(
      "{}{}FullyShardedDataParallel(model, auto_wrap_policy={}, sharding_strategy=ShardingStrategy.{}{}{}, "
      "backward_prefetch={}, limit_all_gathers=True)",
      grid, policy, units,
      grid.empty() ? (whole ? "SHARD_GRAD_OP" : "FULL_SHARD") : (whole ? "_HYBRID_SHARD_ZERO2" : "HYBRID_SHARD"),
      grid.empty() ? "" : ", device_mesh=mesh", policy.empty() ? "" : ", mixed_precision=policy",
      prefetch.empty() ? "None" : fmt::format("BackwardPrefetch.{}", prefetch));
}

std::string composer(const StrategyOptions& options, const Profile& profile) {
  const bool whole = options.fsdp.reshard == Reshard::None, hybrid = options.sharding.shard_group > 0;
  const auto [one, all] = wrapped(options.fsdp.wrap, profile);
  std::string text = fmt::format(
      R"(for {0} in {1}:
    {0}._fsdp_wrap = True
Trainer(parallelism_config={{"fsdp": {{"sharding_strategy": "{2}", "backward_prefetch": "BACKWARD_POST")",
      one, all, hybrid ? (whole ? "_HYBRID_SHARD_ZERO2" : "HYBRID_SHARD") : (whole ? "SHARD_GRAD_OP" : "FULL_SHARD"));
  if (hybrid) text += fmt::format(R"(, "data_parallel_shard_degree": {})", options.sharding.shard_group);
  const Bytes gradient = bytes_of_gradient(profile), parameter = parameter_bytes(profile);
  const auto type = [&](Bytes bytes) { return bytes == 4 ? "fp32" : profile.precision == "fp16" ? "fp16" : "bf16"; };
  if (gradient != 4 || parameter != 4)
    text += fmt::format(R"(, "mixed_precision": {{"param_dtype": "{}", "reduce_dtype": "{}"}})", type(parameter),
                        type(gradient));
  return text + R"(, "limit_all_gathers": True}})";
}

// Flags of torchtitan's graph_trainer. A bucket is an entry of its plan: each block, embedding, and norm with head.
std::string simple_fsdp(const StrategyOptions& options, const Profile& profile) {
  constexpr std::string_view reshards[] = {"default", "always", "never"};
  const FsdpOptions& own = options.fsdp;
  std::string text =
      fmt::format("--module graph_trainer.MODEL --compile.enable --parallelism.fsdp_reshard_after_forward {}",
                  reshards[static_cast<std::size_t>(own.reshard.value_or(Reshard::ButLast))]);
  if (options.sharding.shard_group > 0)
    text += fmt::format(
        " --parallelism.data_parallel_shard_degree {0} --parallelism.data_parallel_replicate_degree WORLD_SIZE/{0}",
        options.sharding.shard_group);
  if (own.separate_lanes) text += " --compile.enable_fsdp_ag_rs_overlap";
  if (!own.reorder) text += " --compile.disable_passes joint_transformer_block_bucketing_reordering_pass";
  // By default, parameters travel in bf16 and gradients in fp32.
  if (parameter_bytes(profile) == 4) text += " --training.mixed_precision_param float32";
  if (bytes_of_gradient(profile) == 2) text += " --training.mixed_precision_reduce " + dtype(2, profile).substr(6);
  const auto [one, all] = wrapped(own.wrap, profile);
  if (one != "block" && own.reorder)
    text += fmt::format("\njoint_transformer_block_bucketing_reordering_pass(gm, module_bucket_plans={})", all);
  return text;
}

template <int stage>
std::string zero(const StrategyOptions& options, const Profile& profile) {
  const ZeroOptions& zero = options.zero;
  std::string text =
      fmt::format(R"({{"zero_optimization": {{"stage": {}, "reduce_bucket_size": {}, "overlap_comm": {})", stage,
                  zero.reduce_bucket, zero.overlap_comm.value_or(stage == 3));
  if (stage < 3)
    text += fmt::format(
        R"(, "allgather_bucket_size": {}, "use_multi_rank_bucket_allreduce": {})",
        zero.allgather_bucket > 0 ? zero.allgather_bucket : std::max<std::int64_t>(500'000'000, profile.elements()),
        zero.whole_buckets);
  else
    text += fmt::format(R"(, "stage3_prefetch_bucket_size": {}, "stage3_param_persistence_threshold": {}, )"
                        R"("stage3_max_live_parameters": {}, "stage3_max_reuse_distance": {})",
                        zero.prefetch_bucket, zero.persistence, zero.max_live, zero.max_reuse);
  if (zero.hpz > 1) text += fmt::format(R"(, "zero_hpz_partition_size": {})", zero.hpz);
  if (zero.qwz) text += R"(, "zero_quantized_weights": true)";
  if (zero.qgz) text += R"(, "zero_quantized_gradients": true)";
  text += "}";
  if (options.sharding.accumulate > 1)
    text += fmt::format(R"(, "gradient_accumulation_steps": {})", options.sharding.accumulate);
  return text + "}";
}
std::string instances(const ShardingConfig& sharding) {
  return fmt::format("--num-distributed-optimizer-instances WORLD_SIZE/{} ", sharding.shard_group);
}

// By default, --bf16 reduces in fp32 and --fp16 in fp16 (megatron/training/arguments.py).
std::string gradient_flag(const Profile& profile) {
  if (bytes_of_gradient(profile) == 2 && profile.precision != "fp16") return "--grad-reduce-in-bf16 ";
  if (bytes_of_gradient(profile) == 4 && profile.precision == "fp16") return "--accumulate-allreduce-grads-in-fp32 ";
  return "";
}

std::string megatron(const StrategyOptions& options, const Profile& profile) {
  const MegatronOptions& own = options.megatron;
  std::string text;
  if (own.distributed_optimizer) text += "--use-distributed-optimizer ";
  if (own.overlap_grad_reduce) text += "--overlap-grad-reduce ";
  if (own.overlap_param_gather.value_or(own.distributed_optimizer && own.overlap_grad_reduce))
    text += "--overlap-param-gather ";
  if (own.bucket_size > 0) text += fmt::format("--ddp-bucket-size {} ", own.bucket_size);
  if (options.sharding.shard_group > 0) text += instances(options.sharding);
  text += gradient_flag(profile);
  if (text.empty()) return "no flags";
  text.pop_back();
  return text;
}

// The trainer waits only at the end of an iteration; fully_shard() by default after each micro-batch. Megatron's units
// are its transformer layers.
std::string megatron_fsdp(const StrategyOptions& options, const Profile& profile) {
  const MegatronFsdpOptions& own = options.megatron_fsdp;
  std::string text = "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params ";
  if (own.double_buffer) text += "--fsdp-double-buffer ";
  if (own.unit_size > 0) text += fmt::format("--suggested-communication-unit-size {} ", own.unit_size);
  if (options.fsdp.separate_lanes) text += "--create-all-gather-group ";
  if (options.sharding.shard_group > 0)
    text += fmt::format("{}--outer-dp-sharding-strategy {} ", instances(options.sharding),
                        own.outer_optimizer ? "optim" : "no_shard");
  text += gradient_flag(profile);
  text.pop_back();
  const auto [one, all] = wrapped(options.fsdp.wrap, profile);
  if (one != "block") text += fmt::format("\nfully_shard(model, fsdp_unit_modules={})", all);
  if (own.sync_every && options.sharding.accumulate > 1)
    text += "\nfully_shard(model, sync_model_each_microbatch=True)";
  return text;
}

std::string local_sgd(const StrategyOptions& options, const Profile&) {
  return fmt::format("with LocalSGD(manager, model, optimizer, sync_every={}):", options.outer.sync_every);
}

std::string diloco(const StrategyOptions& options, const Profile&) {
  const OuterOptions& outer = options.outer;
  std::string text =
      fmt::format("with DiLoCo(manager, fragments, inner_optimizer, outer_optimizer, sync_every={}", outer.sync_every);
  if (outer.bucket) text += fmt::format(", use_bucketization=True, bucket_cap_mb={}", mib(*outer.bucket));
  if (outer.quantize) text += ", should_quantize=True";
  if (outer.delay > 0) text += fmt::format(", fragment_sync_delay={}", outer.delay);
  if (outer.backup_on_device) text += ", backup_device=device";
  return text + "):" + (outer.fragments > 1 ? fmt::format("  # {} fragments", outer.fragments) : "");
}

}  // namespace

// Composer is `Replaced`, since its FSDP is FSDP1, which FSDP2 has replaced.
constinit const Offer offer_s_sgd{"", Offered::AsCode, no_overlap}, offer_wfbp{"", Offered::AsCode, no_fusion},
    offer_sync_easgd{"", Offered::AsCode, one_all_reduce}, offer_optimal_merge{"pytorch", Offered::AsCode},
    offer_ddp{"pytorch", Offered::Maintained, ddp, of_one_cap}, offer_horovod{"horovod", Offered::Maintained, horovod},
    offer_bytescheduler{"bytescheduler", Offered::AsCode, bytescheduler, in_elements},
    offer_us_byte{"us-byte", Offered::AsCode, us_byte}, offer_p3{"mxnet-p3", Offered::AsCode, p3, whole_slices},
    offer_byteps{"byteps", Offered::AsCode, byteps}, offer_dear{"dear", Offered::AsCode, dear},
    offer_fsdp2{"pytorch", Offered::Maintained, fsdp2}, offer_fsdp1{"pytorch", Offered::Replaced, fsdp1},
    offer_composer{"composer", Offered::Replaced, composer},
    offer_simple_fsdp{"torchtitan", Offered::AsCode, simple_fsdp},
    offer_zero1{"deepspeed", Offered::Maintained, zero<1>}, offer_zero2{"deepspeed", Offered::Maintained, zero<2>},
    offer_zero3{"deepspeed", Offered::Maintained, zero<3>}, offer_local_sgd{"torchft", Offered::Maintained, local_sgd},
    offer_diloco{"torchft", Offered::Maintained, diloco},
    offer_megatron{
        "megatron", Offered::Maintained, megatron, nullptr, {"distributed_optimizer", "overlap_grad_reduce"}},
    offer_megatron_fsdp{"megatron", Offered::Maintained, megatron_fsdp};

std::vector<Framework> frameworks() {
  std::vector<Framework> all;
  for (const Strategy& strategy : strategies()) {
    if (strategy.offer.framework.empty()) continue;
    auto own = std::find_if(all.begin(), all.end(),
                            [&](const Framework& one) { return one.name == strategy.offer.framework; });
    if (own == all.end()) own = all.insert(all.end(), {strategy.offer.framework, {}});
    own->strategies.push_back(&strategy);
  }
  return all;
}

std::vector<Framework> frameworks_by_any_name() {
  std::vector<Framework> all = frameworks();
  // torchtitan uses PyTorch's DDP and FSDP2, also in pipelines (torchtitan/models/llama3/infra).
  const auto torchtitan =
      std::find_if(all.begin(), all.end(), [](const Framework& one) { return one.name == "torchtitan"; });
  torchtitan->strategies.insert(torchtitan->strategies.begin(),
                                {row_named(strategies(), "ddp"), row_named(strategies(), "fsdp2")});
  return all;
}

Framework find_framework(std::string_view name, const SourceLocation& place) {
  return find_by_name(frameworks_by_any_name(), name, place, "unknown framework '{}'");
}

Offered offered(const Strategy& strategy, bool zero) {
  return zero && !strategy.plan ? Offered::AsPlan : strategy.offer.how;
}

std::string settings_of(const Strategy& strategy, const StrategyOptions& options, const Profile& profile) {
  // The settings of a block strategy do not include sharding.
  const bool sharded_under = !strategy.plan && options.sharding.shards_optimizer();
  if (!strategy.offer.words || sharded_under) return "";
  const std::string words = strategy.offer.words(options, profile);
  if (options.muon.optimizer != StepOptimizer::Muon) return words;
  const std::string muon_flag = "--optimizer muon";
  if (strategy.offer.framework == "megatron") return words == "no flags" ? muon_flag : words + " " + muon_flag;
  return strategy.offer.framework == "pytorch" ? words + "\noptimizer = Muon(matrices)" : words;
}

std::string in_one_line(const std::string& settings) {
  if (settings.starts_with("# ")) return settings.substr(2, settings.find('\n') - 2);
  std::string text;
  for (std::size_t start = 0; start < settings.size();) {
    const std::size_t end = std::min(settings.find('\n', start), settings.size()),
                      begin = std::min(settings.find_first_not_of(' ', start), end);
    if (!text.empty()) text += begin > start && text.ends_with(':') ? " " : "; ";
    text += settings.substr(begin, end - begin);
    start = end + 1;
  }
  return text;
}

}  // namespace allreplay
