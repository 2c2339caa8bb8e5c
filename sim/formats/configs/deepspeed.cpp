// DeepSpeed's JSON (deepspeed/runtime/config.py, deepspeed/runtime/zero/config.py).
#include <fmt/format.h>

#include "sim/formats/configs/reader.hpp"

namespace allreplay {

namespace {

// transformers/integrations/deepspeed.py, trainer_config_finalize(): what "auto" means for a model of this width.
struct AutoSize {
  const char *key, *flag;
  double times;
  int power;
  bool of_stage_3;
};
constexpr AutoSize auto_sizes[] = {
    {"reduce_bucket_size", "--reduce-bucket", 1, 2, false},
    {"stage3_prefetch_bucket_size", "--prefetch-bucket", 0.9, 2, true},
    {"stage3_param_persistence_threshold", "--persistence", 10, 1, true},
};

void read_zero_sizes(ConfigReader& read, const std::string& zero, std::int64_t stage) {
  if (stage < 3) {
    read.count(zero + "allgather_bucket_size", "--allgather-bucket", 0);
  } else {
    read.count(zero + "stage3_max_live_parameters", "--max-live", 0);
    read.count(zero + "stage3_max_reuse_distance", "--max-reuse", 0);
  }
  for (const AutoSize& one : auto_sizes) {
    if (one.of_stage_3 && stage != 3) continue;
    const std::string key = zero + one.key;
    read.count(key, one.flag, one.of_stage_3 ? 0 : 1);
    if (!read.entries.is_auto(key)) continue;
    read.later({read.entries.file(), key}, [one](const ConfigFacts& facts, LaterSettings& settings) {
      const auto width = static_cast<double>(facts.hidden);
      const double size = one.times * width * (one.power == 2 ? width : 1);
      if (width > 0) settings.set(one.flag, static_cast<std::int64_t>(size));
    });
  }
}

// reduce_scatter false makes stages 1 and 2 reduce by all-reduces, too.
void read_zero_stage(ConfigReader& read, const std::string& prefix) {
  const std::string zero = prefix + "zero_optimization.", key = zero + "stage";
  const std::int64_t stage = read.entries.count(key, 0).value_or(0);
  if (stage == 0) {
    read.note("zero_optimization.stage 0");
    return;
  }
  if (stage > 3) throw InputError(read.place_of(key), fmt::format("{} is not a stage of ZeRO", stage), "0 to 3");
  read.set("--strategy", fmt::format("zero-{}", stage), key);
  read_zero_sizes(read, zero, stage);
  read.yes_or_no(zero + "overlap_comm", "--overlap-comm");
  if (const std::string whole = zero + "use_multi_rank_bucket_allreduce"; stage < 3 && read.entries.find(whole))
    read.set("--bucket-op", read.entries.flag(whole) ? "all-reduce" : "reduce-scatter", whole);
  for (const char* part : {"offload_optimizer", "offload_param"}) {
    const std::string device = zero + part + ".device";
    if (const std::string where = read.entries.text(device); !where.empty() && where != "none")
      read.note(fmt::format("{}.device {}", part, where));
  }
  if (stage == 3) {  // ZeRO++
    read.degree(zero + "zero_hpz_partition_size", "--hpz");
    read.yes_or_no(zero + "zero_quantized_weights", "--qwz");
    read.yes_or_no(zero + "zero_quantized_gradients", "--qgz");
  }
  for (const char* one : {"mics_shard_size", "zero_quantized_nontrainable_weights"}) {
    const Entry* entry = read.entries.find(zero + one);
    if (entry && entry->value != "false" && entry->value != "1" && entry->value != "-1")
      read.note(fmt::format("{} {}", one, entry->value));
  }
}

void read_zero_types(ConfigReader& read, const std::string& prefix) {
  bool is_set = false;
  for (const auto& [key, type] : {std::pair("bf16", "bf16"), {"bfloat16", "bf16"}, {"fp16", "fp16"}}) {
    const std::string enabled = prefix + key + ".enabled";
    if (!read.entries.flag(enabled) || is_set) continue;
    read.set("--precision", type, enabled);
    is_set = true;
  }
  const ConfigWords types{{"bf16", "bf16"},    {"bfp16", "bf16"}, {"bfloat16", "bf16"}, {"fp16", "fp16"},
                          {"float16", "fp16"}, {"fp32", "fp32"},  {"float32", "fp32"}};
  const std::string key = prefix + "communication_data_type";
  if (const std::string type = read.word(key, types); !type.empty()) read.set("--gradient-dtype", type, key);
}

// train_batch_size = train_micro_batch_size_per_gpu x gradient_accumulation_steps x replicas: any two give the third.
void read_zero_batch(ConfigReader& read, const std::string& prefix) {
  const std::string all_key = prefix + "train_batch_size", each_key = prefix + "train_micro_batch_size_per_gpu",
                    steps_key = prefix + "gradient_accumulation_steps";
  const auto all = read.entries.count(all_key), each = read.entries.count(each_key),
             steps = read.entries.count(steps_key);
  if (each) read.set("--batch", *each, each_key);
  if (steps && *steps > 1) read.set("--micro-batches", *steps, steps_key);
  if (!all) return;
  const SourceLocation place = read.place_of(all_key);
  if (each && steps) {
    const std::int64_t samples = product({*each, *steps}, read.place_of(each_key));
    if (*all % samples != 0)
      throw InputError(place, fmt::format("{} samples are not a multiple of {} x {}", *all, *each, *steps),
                       fmt::format("a multiple of {}: micro-batch x accumulation steps x workers", samples));
    if (!read.entries.has(prefix + "tensor_parallel.") && !read.entries.has(prefix + "pipeline"))
      read.set("--workers", *all / samples, place);
    return;
  }
  if (each) return read.set("--global-batch", *all, place);
  read.later(place, [all = *all, steps = steps.value_or(1)](const ConfigFacts& facts, LaterSettings& settings) {
    const std::int64_t passes = product({facts.replicas().value_or(0), steps}, settings.place);
    if (passes > 0 && all % passes == 0) settings.set("--batch", all / passes);
  });
}

}  // namespace

void read_deepspeed(ConfigReader& read, const std::string& prefix) {
  read_zero_stage(read, prefix);
  read_zero_types(read, prefix);
  read_zero_batch(read, prefix);
  if (const std::string key = prefix + "tensor_parallel.autotp_size"; read.entries.find(key)) read.degree(key, "--tp");
  read.optimizer(prefix + "optimizer.type");
  for (const char* key :
       {"sequence_parallel_size", "compression_training.weight_quantization.shared_parameters.enabled",
        "sparse_gradients", "pipeline.stages", "zero_optimization.zenflow.topk_ratio", "compile.deepcompile"})
    read.not_simulated({key});
}

}  // namespace allreplay
