// Megatron-LM's arguments (megatron/training/arguments.py), of a script or as a log prints them.
#include <algorithm>

#include <fmt/format.h>

#include "sim/formats/configs/reader.hpp"

namespace allreplay {

namespace {

void read_megatron_types(ConfigReader& read, bool sums_in_bf16, bool sums_in_fp32) {
  Entries& entries = read.entries;
  const char* const key = entries.flag("bf16") ? "bf16" : entries.flag("fp16") ? "fp16" : nullptr;
  if (key)
    read.set("--precision", key, key);
  else if (entries.find("num_layers"))  // a whole script, which trains in fp32
    read.set("--precision", "fp32", "num_layers");
  const SourceLocation place = read.place_of(sums_in_bf16 ? "grad_reduce_in_bf16" : "bf16");
  // validate_args(): with bf16, gradients are summed in fp32 by default; with fp16 they are not.
  read.later(place, [=](const ConfigFacts& facts, LaterSettings& settings) {
    if (facts.precision == "bf16") settings.set("--gradient-dtype", sums_in_bf16 ? "bf16" : "fp32");
    if (facts.precision == "fp16" && sums_in_fp32) settings.set("--gradient-dtype", "fp32");
  });
}

// Layers of each rank of the pipeline: equally many, or fewer on the first and the last rank if the arguments say so.
void read_megatron_stages(ConfigReader& read, std::int64_t pp, std::int64_t chunks,
                          const std::optional<std::int64_t>& layers_of_chunk) {
  Entries& entries = read.entries;
  const std::int64_t input = entries.flag("account_for_embedding_in_pipeline_split") ? 1 : 0,
                     output = entries.flag("account_for_loss_in_pipeline_split") ? 1 : 0;
  const auto first = entries.count("decoder_first_pipeline_num_layers", 0),
             last = entries.count("decoder_last_pipeline_num_layers", 0);
  const SourceLocation place = read.place_of("pipeline_model_parallel_size"),
                       place_of_layers = read.place_of("num_layers_per_virtual_pipeline_stage");
  if (pp == 1) return;
  read.later(place, [=](const ConfigFacts& facts, LaterSettings& settings) {
    const std::int64_t blocks = std::ssize(facts.blocks);
    std::int64_t each = chunks;
    const std::int64_t of_rank = (blocks + input + output) / pp;
    if (layers_of_chunk && blocks > 0 && !first && !last && of_rank % *layers_of_chunk != 0)
      throw InputError(place_of_layers,
                       fmt::format("{} layers a rank are no multiple of {}", of_rank, *layers_of_chunk),
                       "arguments that Megatron-LM accepts");
    if (layers_of_chunk && blocks > 0)
      each = std::max<std::int64_t>(1, blocks / product({pp, *layers_of_chunk}, place));
    if (each > 1) {
      settings.set("--chunks", each);
      settings.set("--schedule", "interleaved");
    }
    if (blocks == 0) return;
    const std::int64_t count = product({pp, each}, place);
    if (count > blocks)
      throw InputError(place, fmt::format("{} chunks of {} blocks", count, blocks), "at most one for each block");
    std::vector<std::int64_t> cut(static_cast<std::size_t>(count));
    // get_num_layers_to_build() of transformer_block.py: the ranks between the ends share what these leave.
    const std::int64_t ends = (first ? 1 : 0) + (last ? 1 : 0),
                       rest = blocks + input + output - first.value_or(0) - last.value_or(0);
    const std::int64_t shares = (pp - ends) * each;
    if (rest < 0 || (shares == 0 ? rest != 0 : rest % shares != 0) || first.value_or(0) % each != 0 ||
        last.value_or(0) % each != 0)
      throw InputError(place, fmt::format("{} blocks do not divide among {} ranks of {} chunks", blocks, pp, each),
                       "arguments that Megatron-LM accepts");
    for (std::size_t chunk = 0; chunk < cut.size(); ++chunk) {
      const auto rank = static_cast<std::int64_t>(chunk) % pp;
      cut[chunk] = first && rank == 0 ? *first / each : last && rank == pp - 1 ? *last / each : rest / shares;
    }
    cut.front() -= input;
    cut.back() -= output;
    if (const std::string stages = stages_of_blocks(cut, facts); !stages.empty()) settings.set("--stages", stages);
  });
}

void read_megatron_pipeline(ConfigReader& read) {
  Entries& entries = read.entries;
  const std::int64_t pp = entries.count("pipeline_model_parallel_size").value_or(1);
  const auto chunks = entries.count("num_virtual_stages_per_pipeline_rank"),
             layers = entries.count("num_layers_per_virtual_pipeline_stage");
  read.degree("pipeline_model_parallel_size", "--pp");
  read_megatron_stages(read, pp, chunks.value_or(1), layers);
  // Passes overlap in pairs, which here only interleaved schedules have.
  if (entries.flag("overlap_moe_expert_parallel_comm") && (pp == 1 || (!chunks && !layers)))
    read.note("overlap_moe_expert_parallel_comm without an interleaved schedule");
  if (pp == 1) return;
  read.count("microbatch_group_size_per_vp_stage", "--microbatch-group");
  if (entries.flag("no_align_grad_reduce")) read.set("--align-grad-reduce", "false", "no_align_grad_reduce");
  // Sends overlap computation only in interleaved schedules. Fewer micro-batches than ranks have no steady part.
  const bool blocks = !chunks && !layers;
  const SourceLocation place = read.place_of("pipeline_model_parallel_size");
  read.later(place, [blocks](const ConfigFacts& facts, LaterSettings& settings) {
    const auto replicas = facts.replicas();
    const std::int64_t at_once = product({replicas.value_or(1), facts.number("--batch", 1)}, settings.place);
    const bool is_short =
        replicas && at_once > 0 && facts.number("--global-batch", 0) / at_once < facts.number("--pp", 1);
    if (blocks && !is_short) settings.set("--p2p", "blocking");
  });
  if (entries.flag("overlap_moe_expert_parallel_comm"))
    read.later(read.place_of("overlap_moe_expert_parallel_comm"),
               [blocks](const ConfigFacts& facts, LaterSettings& settings) {
                 if (!blocks && facts.number("--ep", 1) > 1) settings.set("--ep-overlap", "true");
               });
  if (!blocks && (entries.flag("no_overlap_p2p_communication") ||
                  (entries.find("overlap_p2p_comm") && !entries.flag("overlap_p2p_comm"))))
    read.note("blocking sends of an interleaved schedule");
  read.not_simulated({"pipeline_model_parallel_layout"});
}

// Groups of workers that share the state: a number of them, or WORLD_SIZE/G as `recommend` writes it.
void read_megatron_instances(ConfigReader& read) {
  const std::string key = "num_distributed_optimizer_instances";
  const Entry* instances = read.entries.find(key);
  if (!instances) return;
  if (instances->value.starts_with("WORLD_SIZE/")) {
    read.set("--shard-group", instances->value.substr(11), instances->place);
    return;
  }
  const std::int64_t count = *read.entries.count(key);
  if (count == 1) return;
  read.later(instances->place, [count](const ConfigFacts& facts, LaterSettings& settings) {
    const auto replicas = replicas_to_group(facts, settings.place);
    if (!replicas) return;
    const std::int64_t ranks = product({*replicas, facts.number("--cp", 1)}, settings.place);
    if (ranks % count != 0)
      throw InputError(settings.place, fmt::format("{} instances do not divide {} data-parallel ranks", count, ranks),
                       "a divisor");
    settings.set("--shard-group", ranks / count);
  });
}

void read_megatron_fsdp(ConfigReader& read) {
  Entries& entries = read.entries;
  const char* const key = entries.find("use_megatron_fsdp") ? "use_megatron_fsdp" : "use_custom_fsdp";
  read.set("--strategy", "megatron-fsdp", key);
  const std::string sharded = entries.text("data_parallel_sharding_strategy");
  if (sharded != "optim_grads_params")
    read.note(fmt::format("data_parallel_sharding_strategy {}", sharded.empty() ? "no_shard" : sharded));
  read.yes_or_no("fsdp_double_buffer", "--double-buffer");
  read.count("suggested_communication_unit_size", "--unit-size");
  if (entries.flag("create_all_gather_group")) read.set("--lanes", "separate", "create_all_gather_group");
  const std::string outer = read.word("outer_dp_sharding_strategy", {{"no_shard", "no_shard"}, {"optim", "optim"}});
  if (!outer.empty()) read.set("--outer", outer, "outer_dp_sharding_strategy");
  if (entries.flag("sync_model_each_microbatch")) read.set("--sync", "every", "sync_model_each_microbatch");
  read.units("fsdp_unit_modules");
  read_megatron_instances(read);
}

// The framework's defaults are all false, ours true.
void read_megatron_optimizer(ConfigReader& read) {
  Entries& entries = read.entries;
  if (entries.flag("use_torch_fsdp2")) {
    read.set("--strategy", "fsdp2", "use_torch_fsdp2");
    return;
  }
  if (entries.flag("use_megatron_fsdp") || entries.flag("use_custom_fsdp")) return read_megatron_fsdp(read);
  const SourceLocation place{entries.file(), ""};
  read.set("--strategy", "megatron", place);
  for (const auto& [key, flag] : {std::pair("use_distributed_optimizer", "--distributed-optimizer"),
                                  {"overlap_grad_reduce", "--overlap-grad-reduce"},
                                  {"overlap_param_gather", "--overlap-param-gather"}})
    read.set(flag, entries.flag(key) ? "true" : "false", entries.find(key) ? read.place_of(key) : place);
  if (const auto size = entries.count("ddp_bucket_size"); size && *size > 0)
    read.set("--bucket-size", *size, "ddp_bucket_size");
  read_megatron_instances(read);
}

void read_megatron_recomputation(ConfigReader& read) {
  Entries& entries = read.entries;
  const std::string rule = read.word("recompute_granularity", {{"full", "full"}, {"selective", "selective"}}),
                    method = entries.text("recompute_method");
  const std::int64_t layers = entries.count("recompute_num_layers").value_or(1);
  if (rule == "full" && (method == "block" || layers > 1))
    read.approximate(fmt::format("recompute_method {} of {} layers", method, layers), "every layer");
  if (rule == "full") read.set("--recompute", "full", "recompute_granularity");
  if (entries.flag("recompute_activations") || rule == "selective")
    read.approximate("selective recomputation", "fused attention, which recomputes the same in any case");
}

// model_in_arguments() reads these.
void read_megatron_model(ConfigReader& read) {
  Entries& entries = read.entries;
  read.set("--model", entries.file(), "num_layers");
  for (const char* key : {"ffn_hidden_size",
                          "num_attention_heads",
                          "kv_channels",
                          "group_query_attention",
                          "num_query_groups",
                          "swiglu",
                          "position_embedding_type",
                          "use_rotary_position_embeddings",
                          "normalization",
                          "disable_bias_linear",
                          "add_qkv_bias",
                          "vocab_size",
                          "padded_vocab_size",
                          "max_position_embeddings",
                          "untie_embeddings_and_output_weights",
                          "qk_layernorm",
                          "moe_ffn_hidden_size",
                          "moe_shared_expert_intermediate_size",
                          "moe_shared_expert_gate",
                          "moe_layer_freq",
                          "moe_router_enable_expert_bias",
                          "multi_latent_attention",
                          "q_lora_rank",
                          "kv_lora_rank",
                          "qk_head_dim",
                          "qk_pos_emb_head_dim",
                          "v_head_dim"})
    entries.find(key);
}

// The numbers of experts are the model's; their products are computed in groups here.
void read_megatron_experts(ConfigReader& read) {
  Entries& entries = read.entries;
  entries.find("moe_router_topk");
  if (entries.count("num_experts", 0).value_or(0) == 0) return;
  if (!entries.flag("moe_grouped_gemm")) read.note("experts without moe_grouped_gemm, simulated with it");
  if (const std::string type = entries.text("moe_token_dispatcher_type"); type != "alltoall")
    read.note(fmt::format("moe_token_dispatcher_type {}, simulated as alltoall", type.empty() ? "allgather" : type));
}

}  // namespace

void read_megatron(ConfigReader& read) {
  Entries& entries = read.entries;
  if (entries.find("num_layers") && entries.find("hidden_size")) read_megatron_model(read);
  read.count("seq_length", "--seq");
  read.count("micro_batch_size", "--batch");
  read.count("global_batch_size", "--global-batch");
  read.degree("tensor_model_parallel_size", "--tp");
  read.degree("context_parallel_size", "--cp");
  read.degree("expert_model_parallel_size", "--ep");
  const bool tp = entries.count("tensor_model_parallel_size").value_or(1) > 1;
  if (entries.flag("sequence_parallel") && tp) read.set("--sequence-parallel", "", "sequence_parallel");
  read.count("world_size", "--workers");  // of a log
  read_megatron_types(read, entries.flag("grad_reduce_in_bf16"), entries.flag("accumulate_allreduce_grads_in_fp32"));
  read_megatron_optimizer(read);
  read.optimizer("optimizer");
  read_megatron_pipeline(read);
  read_megatron_experts(read);
  read_megatron_recomputation(read);
  if (const std::string type = entries.text("cp_comm_type");
      entries.count("context_parallel_size").value_or(1) > 1 && type != "all_gather")
    read.approximate("cp_comm_type " + (type.empty() ? "p2p (the default)" : type), "all_gather");
  read.not_simulated({"fp8_format",
                      "fp8",
                      "tp_comm_overlap",
                      "optimizer_cpu_offload",
                      "use_precision_aware_optimizer",
                      "expert_tensor_parallel_size",
                      "defer_embedding_wgrad_compute",
                      "delay_wgrad_compute",
                      "encoder_tensor_model_parallel_size",
                      "encoder_pipeline_model_parallel_size",
                      "cpu_offloading_num_layers",
                      "fp4_format",
                      "rampup_batch_size",
                      "mtp_num_layers",
                      "moe_shared_expert_overlap",
                      "moe_enable_deepep",
                      "moe_deepep_num_sms",
                      "moe_flex_dispatcher_backend",
                      "moe_hybridep_num_sms",
                      "moe_expert_capacity_factor",
                      "moe_pad_expert_input_to_capacity",
                      "moe_layer_recompute",
                      "recompute_modules",
                      "hybrid_layer_pattern",
                      "hybrid_override_pattern",
                      "window_size",
                      "hierarchical_context_parallel_sizes",
                      "spec",
                      "overlap_param_gather_with_optimizer_step"});
}

}  // namespace allreplay
