// Hugging Face: TrainingArguments and accelerate's configuration, as YAML or JSON (transformers/training_args.py,
// accelerate/utils/dataclasses.py).
#include <filesystem>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/formats/configs/known_keys.hpp"
#include "sim/formats/configs/reader.hpp"

namespace allreplay {

namespace {

struct FsdpRule {
  bool is_on = false, keeps_parameters = false, in_nodes = false, is_unsharded = false;
};

// Names and numbers of ShardingStrategy, and Trainer's words.
FsdpRule rule_of(ConfigReader& read, const std::string& key, std::string_view word) {
  constexpr struct {
    std::string_view word;
    FsdpRule rule;
  } rows[] = {{"full_shard", {true}},
              {"1", {true}},
              {"shard_grad_op", {true, true}},
              {"2", {true, true}},
              {"no_shard", {true, true, false, true}},
              {"3", {true, true, false, true}},
              {"hybrid_shard", {true, false, true}},
              {"4", {true, false, true}},
              {"hybrid_shard_zero2", {true, true, true}},
              {"5", {true, true, true}}};
  const std::string lower = lower_case(word);
  for (const auto& row : rows)
    if (row.word == lower) return row.rule;
  throw InputError(read.place_of(key), fmt::format("'{}' is not a sharding strategy", word),
                   "FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD or HYBRID_SHARD_ZERO2");
}

// The sizes of accelerate's ParallelismConfig (accelerate/parallelism_config.py): a block of its file, or arguments of
// `accelerate launch`.
class Sizes {
 public:
  explicit Sizes(ConfigReader& read) : read_(read) {}

  std::int64_t size(const std::string& name) { return read_.entries.count(key(name)).value_or(1); }

  // Tensor and context parallelism, and the workers, which are the product of all sizes.
  void translate_degrees() {
    read_.degree(key("tp"), "--tp");
    read_.degree(key("cp"), "--cp");
    read_.not_simulated({key("sp")});
    if (size("cp") > 1) read_.not_simulated({key("cp", "comm_strategy")});
    const SourceLocation place = read_.place_of(key("dp_shard"));
    const std::int64_t all =
        product({size("dp_replicate"), size("dp_shard"), size("tp"), size("cp"), size("sp")}, place);
    if (all == 1) return;
    const auto processes = read_.entries.count("num_processes");
    if (processes && *processes != all)
      throw InputError(read_.place_of("num_processes"),
                       fmt::format("{} processes, but parallelism_config is for {}", *processes, all),
                       "the product of its sizes");
    if (!processes) read_.set("--workers", all, place);
  }

  // FSDP2 shards among dp_shard and cp together, and replicates among dp_replicate.
  void translate_groups() {
    const std::int64_t replicate = size("dp_replicate"), shard = product({size("dp_shard"), size("cp")}, place());
    if (shard == 1)
      throw InputError(place(), fmt::format("{} replicas of 1 worker leave nothing to shard, which is DDP", replicate),
                       "dp_shard_size above 1, or another distributed_type");
    read_.set("--shard-group", shard, key("dp_shard"));
  }

  void ignore_shards(std::string_view why) {
    if (size("dp_shard") > 1) read_.note(fmt::format("{} {} {}", key("dp_shard"), size("dp_shard"), why));
  }

 private:
  std::string key(const std::string& name, const std::string& what = "size") {
    const std::string flat = fmt::format("parallelism_config_{}_{}", name, what),
                      in_block = "parallelism_config." + flat;
    return read_.entries.find(flat) ? flat : in_block;
  }
  SourceLocation place() { return read_.place_of(key("dp_replicate")); }

  ConfigReader& read_;
};

// Translates the keys of FSDP: "fsdp_config.fsdp_NAME" in accelerate, "fsdp_config.NAME" in Trainer.
class Fsdp {
 public:
  explicit Fsdp(ConfigReader& read) : read_(read) {}

  bool is_on() {
    const std::string words = read_.entries.text("fsdp");
    for (const std::string_view word : split(words, " ")) take_word("fsdp", word);
    for (int i = 0; i < 4; ++i)
      if (const std::string key = fmt::format("fsdp.{}", i); read_.entries.find(key))
        take_word(key, read_.entries.text(key));
    if (read_.entries.text("distributed_type") == "FSDP") rule_.is_on = true;
    return rule_.is_on;
  }

  void translate(Sizes& sizes) {
    Entries& entries = read_.entries;
    const std::int64_t version = entries.count(key("version")).value_or(1);
    const SourceLocation place = read_.place_of(key("version"));
    if (version > 2) throw InputError(place, fmt::format("{} is no version of FSDP", version), "1 or 2");
    const bool second = version == 2;
    if (const std::string own = key("sharding_strategy"); !second && entries.find(own))
      rule_ = rule_of(read_, own, entries.text(own));
    const std::string reshard = key("reshard_after_forward");
    if (second && entries.find(reshard)) rule_.keeps_parameters = !entries.flag(reshard);
    if (!second && entries.find(reshard)) rule_ = rule_of(read_, reshard, entries.text(reshard));
    if (rule_.is_unsharded) return read_.set("--strategy", "ddp", place);
    read_.set("--strategy", second ? "fsdp2" : "fsdp1", place);
    // accelerate passes reshard_after_forward to the root, too.
    if (rule_.keeps_parameters || second) read_.set("--reshard", rule_.keeps_parameters ? "none" : "all", place);
    if (second && sizes.size("dp_replicate") > 1)
      sizes.translate_groups();
    else if (rule_.in_nodes)
      translate_groups();
    if (!second) sizes.ignore_shards("without fsdp_version 2");
    translate_units(second);
    if (!second) translate_prefetch();
    if (entries.flag(key("activation_checkpointing")) || entries.flag("fsdp_config.activation_checkpointing"))
      read_.set("--recompute", "full", key("activation_checkpointing"));
    for (const char* one : {"offload_params", "cpu_offload", "forward_prefetch"})
      if (entries.flag(key(one))) read_.note(key(one));
  }

 private:
  std::string key(const std::string& name) {
    const std::string with = "fsdp_config.fsdp_" + name, without = "fsdp_config." + name;
    return read_.entries.find(with) ? with : without;
  }

  void take_word(const std::string& key, std::string_view word) {
    if (word.empty() || word == "auto_wrap") return;
    if (word == "offload") return read_.note("fsdp offload");
    rule_ = rule_of(read_, key, word);
  }

  // Hybrid sharding shards among the processes of a machine.
  void translate_groups() {
    const auto processes = read_.entries.count("num_processes"), machines = read_.entries.count("num_machines");
    if (processes && machines) return read_.set("--shard-group", *processes / *machines, "num_machines");
    read_.shard_in_nodes(read_.place_of(read_.entries.find("fsdp") ? "fsdp" : key("sharding_strategy")));
  }

  void translate_units(bool second) {
    Entries& entries = read_.entries;
    const std::string policy = entries.text(key("auto_wrap_policy"));
    if (policy == "NO_WRAP") read_.note("fsdp_auto_wrap_policy NO_WRAP");
    const auto least = entries.count(key("min_num_params"), 0);
    if (policy != "SIZE_BASED_WRAP" || !least || *least == 0 || second) return;
    read_.later(read_.place_of(key("min_num_params")),
                [count = *least](const ConfigFacts& facts, LaterSettings& settings) {
                  settings.set("--wrap", fmt::format("{}B", count * (facts.precision == "fp32" ? 4 : 2)));
                });
  }

  void translate_prefetch() {
    const std::string own = key("backward_prefetch");
    const std::string rule = read_.word(own, {{"BACKWARD_PRE", "pre"},
                                              {"backward_pre", "pre"},
                                              {"1", "pre"},
                                              {"BACKWARD_POST", "post"},
                                              {"backward_post", "post"},
                                              {"2", "post"},
                                              {"NO_PREFETCH", "none"},
                                              {"no_prefetch", "none"},
                                              {"3", "none"}});
    // Without the key, neither Trainer nor accelerate asks FSDP to prefetch.
    read_.set("--backward-prefetch", rule.empty() ? "none" : rule, own);
  }

  ConfigReader& read_;
  FsdpRule rule_;
};

// Reads the file of DeepSpeed that this one names. Returns false if it names none.
bool read_named_deepspeed(ConfigReader& read, const Files& files) {
  for (const std::string key : {"deepspeed", "deepspeed_config.deepspeed_config_file"}) {
    const Entry* named = read.entries.find(key);
    if (!named || named->value.empty()) continue;
    const std::string next_to_file = (std::filesystem::path(read.entries.file()).parent_path() / named->value).string();
    const std::string file = files.is_file(next_to_file) ? next_to_file : named->value;
    if (!files.is_file(file)) throw InputError(named->place, fmt::format("no such file: {}", file), "DeepSpeed's JSON");
    Entries own = entries_of_json(files.read(file, most_bytes_of_config), file);
    ConfigReader inner(own, read.config);
    read_deepspeed(inner);
    sort_unread(own, "DeepSpeed", read.config);
    return true;
  }
  return false;
}

// accelerate's short form of DeepSpeed.
void read_short_deepspeed(ConfigReader& read) {
  const std::int64_t stage = read.entries.count("deepspeed_config.zero_stage", 0).value_or(2);
  const SourceLocation place = read.place_of("deepspeed_config.zero_stage");
  if (stage < 1 || stage > 3) return read.note(fmt::format("zero_stage {}", stage));
  read.set("--strategy", fmt::format("zero-{}", stage), place);
  read.count("deepspeed_config.gradient_accumulation_steps", "--micro-batches");
  for (const char* part : {"offload_optimizer_device", "offload_param_device"})
    if (const std::string where = read.entries.text(fmt::format("deepspeed_config.{}", part));
        !where.empty() && where != "none")
      read.note(fmt::format("{} {}", part, where));
}

void read_trainer_types(ConfigReader& read, bool is_fsdp, bool is_deepspeed) {
  Entries& entries = read.entries;
  std::string type = read.word("mixed_precision",
                               {{"bf16", "bf16"}, {"fp16", "fp16"}, {"no", "fp32"}, {"false", "fp32"}, {"fp8", "fp8"}});
  SourceLocation place = read.place_of("mixed_precision");
  for (const char* key : {"bf16", "fp16"})
    if (entries.flag(key)) type = key, place = read.place_of(key);
  if (type == "fp8") return read.note("mixed_precision fp8");
  if (type.empty()) return;
  read.set("--precision", type, place);
  // accelerate gathers and reduces in that type with FSDP; DDP under autocast has parameters and gradients in fp32.
  if (is_fsdp || is_deepspeed || type == "fp32") return;
  const bool is_assumed = !entries.find("distributed_type");
  for (const char* flag : {"--gradient-dtype", "--parameter-dtype"})
    read.config.settings.push_back({flag, "fp32", place, is_assumed});
}

// The folder of a model, or its name on Hugging Face's hub.
void read_model_name(ConfigReader& read, const Files& files) {
  const std::string key = "model_name_or_path", model = read.entries.text(key);
  if (model.empty()) return;
  const std::string beside = (std::filesystem::path(read.entries.file()).parent_path() / model).string();
  const bool is_beside = files.is_file(beside + "/config.json");
  read.set("--model", is_beside ? beside : model, key);
}

// PEFT is Trainer's library of adapters; LLaMA-Factory has its own word for them.
void read_adapters(ConfigReader& read) {
  Entries& entries = read.entries;
  const std::string tuning = entries.text("finetuning_type");
  const auto rank = entries.count(entries.find("lora_rank") ? "lora_rank" : "lora_r");
  entries.all_of("lora_target_modules");
  entries.find("lora_target");
  if (!entries.flag("use_peft") && (tuning.empty() || tuning == "full")) return;
  if (!tuning.empty() && tuning != "lora") return read.note(fmt::format("finetuning_type {}", tuning));
  read.note(fmt::format("LoRA: all parameters are trained here (`allreplay estimate --lora {}` makes the profile)",
                        rank.value_or(tuning.empty() ? 16 : 8)));
}

void read_processes(ConfigReader& read) {
  const auto processes = read.entries.count("num_processes"), machines = read.entries.count("num_machines");
  if (processes && machines && *processes % *machines != 0)
    throw InputError(read.place_of("num_processes"), fmt::format("{} processes on {} machines", *processes, *machines),
                     "a multiple of the machines");
  read.count("num_processes", "--workers");
}

}  // namespace

void read_hugging_face(ConfigReader& read, const Files& files) {
  Entries& entries = read.entries;
  Fsdp fsdp(read);
  const bool is_fsdp = fsdp.is_on(), named = read_named_deepspeed(read, files),
             is_short = !named && entries.text("distributed_type") == "DEEPSPEED";
  if (entries.text("distributed_type") == "MEGATRON_LM")
    read.note("distributed_type MEGATRON_LM (its arguments are read)");
  Sizes sizes(read);
  if (is_fsdp)
    fsdp.translate(sizes);
  else if (is_short)
    read_short_deepspeed(read);
  else if (!named)
    read.config.settings.push_back({"--strategy", "ddp", {entries.file(), ""}, !entries.find("distributed_type")});
  if (entries.find("ddp_bucket_cap_mb") && !is_fsdp && !named && !is_short)
    read.config.settings.push_back({"--bucket-cap", entries.text("ddp_bucket_cap_mb") + "MiB",
                                    read.place_of("ddp_bucket_cap_mb"), !entries.find("distributed_type")});
  if (!is_fsdp && !named && !is_short) sizes.ignore_shards("without FSDP");
  sizes.translate_degrees();
  read_trainer_types(read, is_fsdp, named || is_short);
  read_model_name(read, files);
  read_adapters(read);
  read.optimizer("optim");
  read_processes(read);
  read.count("per_device_train_batch_size", "--batch");
  if (!named && entries.count("gradient_accumulation_steps").value_or(1) > 1)
    read.count("gradient_accumulation_steps", "--micro-batches");
  for (const char* key : {"max_seq_length", "max_length", "model_max_length", "block_size", "cutoff_len"})
    if (entries.find(key)) {
      read.count(key, "--seq");
      break;
    }
  if (entries.flag("gradient_checkpointing")) read.set("--recompute", "full", "gradient_checkpointing");
  read.not_simulated({"tp_size", "parallelism_config.parallelism_config_dp_size", "dynamo_config.dynamo_backend",
                      "tpu_use_cluster", "use_liger_kernel", "load_in_8bit", "load_in_4bit", "quantization_bit",
                      "torch_compile", "cpu_offload", "activation_offloading", "galore_target_modules",
                      "optim_target_modules", "packing", "auto_find_batch_size"});
}

}  // namespace allreplay
