// torchtitan's TOML, or the same keys as arguments (torchtitan/config/job_config.py).
#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/formats/configs/reader.hpp"

namespace allreplay {

namespace {

// "llama3" of flavor "8B" is our llama3-8b. DeepSeek-V3 has one size here.
void read_titan_model_name(ConfigReader& read) {
  const std::string name = read.entries.text("model.name"), flavor = read.entries.text("model.flavor");
  if (name.empty()) return;
  std::string own = lower_case(flavor.empty() ? name : name + "-" + flavor);
  std::replace(own.begin(), own.end(), '_', '-');
  if (own == "deepseek-v3-671b") own = "deepseek-v3";
  read.set("--model", own, flavor.empty() ? "model.name" : "model.flavor");
}

void read_titan_types(ConfigReader& read, bool is_sharded) {
  const ConfigWords types{{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}};
  const std::string param = read.word("training.mixed_precision_param", types),
                    reduce = read.word("training.mixed_precision_reduce", types);
  read.set("--precision", param.empty() ? "bf16" : param, "training.mixed_precision_param");
  // DDP computes under autocast, whose parameters and gradients are fp32.
  if (!is_sharded) read.set("--parameter-dtype", "fp32", "training.mixed_precision_param");
  read.set("--gradient-dtype", reduce.empty() || !is_sharded ? "fp32" : reduce,
           read.place_of("training.mixed_precision_reduce"));
}

// Hybrid sharding without a shard degree, or with -1: the groups are all that the other degrees leave of the workers
// (torchtitan/distributed/parallel_dims.py, ParallelDims).
void read_titan_rest(ConfigReader& read, std::int64_t replicate) {
  read.later(read.place_of("parallelism.data_parallel_replicate_degree"), [replicate](const ConfigFacts& facts,
                                                                                      LaterSettings& settings) {
    const auto ranks = replicas_to_group(facts, settings.place);
    if (!ranks) return;
    if (*ranks % replicate != 0)
      throw InputError(settings.place,
                       fmt::format("{} replicas do not divide {} data-parallel ranks", replicate, *ranks), "a divisor");
    const std::int64_t group = product({*ranks / replicate, facts.number("--cp", 1)}, settings.place);
    if (group == 1)
      throw InputError(settings.place,
                       fmt::format("{} replicas of {} ranks leave nothing to shard, which is DDP", replicate, *ranks),
                       "parallelism.data_parallel_shard_degree 1");
    settings.set("--shard-group", group);
  });
}

// The compiler's FSDP of the module graph_trainer. Returns true, since parameters are sharded.
bool read_titan_simple_fsdp(ConfigReader& read) {
  Entries& entries = read.entries;
  read.set("--strategy", "simple-fsdp", "module");
  entries.flag("compile.enable");  // always: its plan is the compiler's
  const std::string replicate = "parallelism.data_parallel_replicate_degree";
  const auto shard = entries.count("parallelism.data_parallel_shard_degree", -1);
  entries.find(replicate);  // may be WORLD_SIZE/G, as `recommend` writes it
  if (shard && *shard > 0)
    read.set("--shard-group", *shard, "parallelism.data_parallel_shard_degree");
  else if (const std::int64_t count = entries.count(replicate).value_or(1); count > 1)
    read_titan_rest(read, count);
  if (entries.flag("compile.enable_fsdp_ag_rs_overlap"))
    read.set("--lanes", "separate", "compile.enable_fsdp_ag_rs_overlap");
  if (entries.text("compile.disable_passes") == "joint_transformer_block_bucketing_reordering_pass")
    read.set("--reorder", "none", "compile.disable_passes");
  read.units("module_bucket_plans");
  return true;
}

// Returns true if parameters are sharded.
bool read_titan_data_parallel(ConfigReader& read, std::int64_t pp, std::int64_t tp, std::int64_t cp) {
  if (read.entries.text("module").starts_with("graph_trainer")) return read_titan_simple_fsdp(read);
  read.not_simulated({"compile.enable"});
  const std::int64_t replicate = read.entries.count("parallelism.data_parallel_replicate_degree").value_or(1),
                     shard = read.entries.count("parallelism.data_parallel_shard_degree", -1).value_or(-1);
  const SourceLocation place = read.place_of("parallelism.data_parallel_shard_degree");
  const bool sharded = shard != 1 || cp > 1 || replicate == 1;
  read.set("--strategy", sharded ? "fsdp2" : "ddp", place);
  if (shard > 0) read.set("--workers", product({replicate, shard, cp, tp, pp}, place), place);
  if (!sharded) read.set("--bucket-cap", "100MiB", place);  // parallelize.py, apply_ddp()
  if (sharded && replicate > 1) {
    if (pp > 1)
      read.note(fmt::format("parallelism.data_parallel_replicate_degree {} in a pipeline", replicate));
    else if (shard < 0)
      read_titan_rest(read, replicate);
    else
      read.set("--shard-group", product({shard, cp}, place), place);
  }
  return sharded;
}

void read_titan_reshard(ConfigReader& read, std::int64_t pp) {
  const std::string key = "parallelism.fsdp_reshard_after_forward";
  const std::string rule = read.word(key, {{"default", ""}, {"always", "all"}, {"never", "none"}});
  if (rule.empty()) return;
  if (pp > 1 && rule == "all")
    read.note("parallelism.fsdp_reshard_after_forward always in a pipeline");
  else
    read.set("--reshard", rule, key);
}

// torchtitan/distributed/pipeline_parallel.py, generate_llm_fqn_per_model_part(): embedding and output count as some
// blocks, and the first stages get the remaining blocks.
std::vector<std::int64_t> blocks_of_stages(std::int64_t blocks, std::int64_t stages, std::int64_t input,
                                           std::int64_t output) {
  const std::int64_t all = blocks + input + output;
  std::vector<std::int64_t> each;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    std::int64_t own = all / stages + (stage < all % stages ? 1 : 0);
    if (stage == 0) own -= input;
    if (stage == stages - 1) own -= output;
    each.push_back(std::max<std::int64_t>(own, 0));
  }
  return each;
}

void read_titan_pipeline(ConfigReader& read, std::int64_t pp) {
  const std::string key = "parallelism.pipeline_parallel_schedule";
  const std::string schedule = read.word(key, {{"1F1B", "1f1b"},
                                               {"GPipe", "gpipe"},
                                               {"LoopedBFS", "looped-bfs"},
                                               {"Interleaved1F1B", "interleaved"},
                                               {"InterleavedZeroBubble", "zb-h1"},
                                               {"ZBVZeroBubble", "zbv"},
                                               {"DualPipeV", "dualpipe-v"}});
  const std::int64_t input = read.entries.count("parallelism.pipeline_parallel_first_stage_less_layers", 0).value_or(1),
                     output = read.entries.count("parallelism.pipeline_parallel_last_stage_less_layers", 0).value_or(1);
  const auto per_stage = read.entries.count("parallelism.pipeline_parallel_layers_per_stage");
  const SourceLocation place = read.place_of("parallelism.pipeline_parallel_layers_per_stage");
  if (pp == 1) return;
  if (const Entry* file = read.entries.find("parallelism.pipeline_parallel_schedule_csv"); file && !file->value.empty())
    read.set("--schedule", file->value, file->place);
  else
    read.set("--schedule", schedule.empty() ? "1f1b" : schedule, key);
  read.not_simulated({"parallelism.pipeline_parallel_split_points", "parallelism.module_fqns_per_model_part.0.0",
                      "parallelism.pipeline_parallel_module_fqns_per_model_part.0.0"});
  const bool is_single = schedule.empty() || schedule == "1f1b" || schedule == "gpipe";
  read.later(place, [=](const ConfigFacts& facts, LaterSettings& settings) {
    const std::int64_t blocks = std::ssize(facts.blocks);
    std::int64_t stages = pp * (is_single ? 1 : 2);
    if (per_stage && blocks > 0) stages = (blocks + input + output + *per_stage - 1) / *per_stage;
    if (stages % pp != 0 || (blocks > 0 && stages > blocks + 2))
      throw InputError(place, fmt::format("{} stages of {} blocks on pp {}", stages, blocks, pp),
                       "a multiple of the ranks, at most one for each block");
    if (stages > pp) settings.set("--chunks", stages / pp);
    if (blocks == 0) return;
    if (const std::string cut = stages_of_blocks(blocks_of_stages(blocks, stages, input, output), facts); !cut.empty())
      settings.set("--stages", cut);
  });
}

void read_titan_batch(ConfigReader& read, std::int64_t pp) {
  auto local = read.entries.count("training.local_batch_size");
  if (!local) local = read.entries.count("training.batch_size");  // its name until 2025
  const SourceLocation place = read.place_of("training.local_batch_size");
  const auto global = read.entries.count("training.global_batch_size", -1);
  const std::int64_t each = read.entries.count("parallelism.pipeline_parallel_microbatch_size").value_or(1);
  if (global && *global > 0) read.set("--global-batch", *global, "training.global_batch_size");
  if (!local && pp == 1) return;
  if (pp == 1) return read.set("--batch", *local, place);
  read.set("--batch", each, "parallelism.pipeline_parallel_microbatch_size");
  if (!local) return;
  if (!global || *global < 0) return read.set("--micro-batches", *local / each, place);
  read.later(place, [samples = *local, all = *global](const ConfigFacts& facts, LaterSettings& settings) {
    if (const auto replicas = facts.replicas(); replicas && all != product({samples, *replicas}, settings.place))
      throw InputError(settings.place,
                       fmt::format("{} samples on {} replicas are several runs of the pipeline for each update, which "
                                   "are not simulated: global_batch_size is {}",
                                   samples, *replicas, all),
                       fmt::format("{}", all / *replicas));
  });
}

void read_titan_recomputation(ConfigReader& read) {
  const std::string mode = read.word("activation_checkpoint.mode",
                                     {{"none", "none"}, {"selective", "selective"}, {"full", "full"}}),
                    option = read.entries.text("activation_checkpoint.selective_ac_option");
  const std::string rule = mode.empty() ? "selective" : mode;  // torchtitan's default
  if (rule != "none") read.set("--recompute", rule, "activation_checkpoint.mode");
  if (rule == "selective" && option != "op")
    read.approximate("activation_checkpoint.selective_ac_option " + (option.empty() ? "2 (the default)" : option),
                     "op");
}

}  // namespace

void read_torchtitan(ConfigReader& read) {
  Entries& entries = read.entries;
  const auto degree = [&](const char* key) { return entries.count(key).value_or(1); };
  const std::int64_t pp = degree("parallelism.pipeline_parallel_degree"),
                     tp = degree("parallelism.tensor_parallel_degree"),
                     cp = degree("parallelism.context_parallel_degree");
  read_titan_model_name(read);
  read.count("training.seq_len", "--seq");
  read_titan_batch(read, pp);
  read.degree("parallelism.pipeline_parallel_degree", "--pp");
  read.degree("parallelism.tensor_parallel_degree", "--tp");
  read.degree("parallelism.context_parallel_degree", "--cp");
  read.degree("parallelism.expert_parallel_degree", "--ep");
  if (tp > 1) read.set("--sequence-parallel", "", "parallelism.tensor_parallel_degree");
  read_titan_types(read, read_titan_data_parallel(read, pp, tp, cp));
  read_titan_reshard(read, pp);
  read_titan_pipeline(read, pp);
  read_titan_recomputation(read);
  read.optimizer("optimizer.name");
  for (const Entry* entry : entries.all_of("model.converters"))
    if (!entry->value.empty()) read.note(entry->key + (" " + entry->value));
  if (const std::string type = entries.text("training.dtype"); !type.empty() && type != "float32")
    read.note("training.dtype " + type);
  read.not_simulated({"optimizer.early_step_in_backward", "training.enable_cpu_offload",
                      "parallelism.enable_async_tensor_parallel", "float8.enable_fsdp_float8_all_gather",
                      "parallelism.expert_tensor_parallel_degree", "parallelism.fsdp_bucket_size_in_mb",
                      "activation_checkpoint.memory_budget",
                      "activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns"});
}

}  // namespace allreplay
