#include "sim/formats/configs/known_keys.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

// "adam_*" means all keys that start with adam_.
struct KnownKeys {
  std::string_view format;
  std::string_view conditional;  ///< keys that matter, but are read only together with others
  std::string_view harmless;     ///< keys that do not change the time of an iteration
};

constexpr std::string_view launcher_keys =
    " master_addr master_port node_rank nnodes nproc_per_node nodes ntasks* gres gpus_per_node cpus_per_task partition "
    "account time job_name exclusive mem container* rdzv_* local_addr start_method max_restarts standalone log_dir "
    "redirects tee role monitor_interval hostfile num_gpus num_nodes include exclude launcher";

constexpr KnownKeys known_keys[] = {
    {"torchtitan",
     "parallelism.pipeline_parallel_microbatch_size parallelism.pipeline_parallel_schedule "
     "parallelism.pipeline_parallel_schedule_csv parallelism.data_parallel_replicate_degree "
     "parallelism.data_parallel_shard_degree compile.enable_fsdp_ag_rs_overlap compile.disable_passes "
     "parallelism.pipeline_parallel_split_points nproc_per_node nnodes",
     "job.* profiling.* metrics.* model.hf_assets_path model.tokenizer_path model.print_after_conversion "
     "optimizer.lr optimizer.eps optimizer.beta1 optimizer.beta2 optimizer.weight_decay optimizer.implementation "
     "optimizer.fused lr_scheduler.* training.steps training.dataset training.dataset_path training.max_norm "
     "training.seed training.deterministic training.gc_freq training.gc_debug training.debug_moe_force_load_balance "
     "checkpoint.* compile.enable compile.components* compile.backend comm.* validation.* debug.* memory_estimation.* "
     "fault_tolerance.* experimental.* activation_checkpoint.early_stop activation_checkpoint.determinism_check "
     "activation_checkpoint.preserve_rng_state activation_checkpoint.debug float8.* mx.* quantize.* "
     "parallelism.context_parallel_rotate_method parallelism.disable_loss_parallel local_ranks_filter local_addr"},
    {"DeepSpeed",
     "zero_optimization.allgather_bucket_size zero_optimization.reduce_bucket_size "
     "zero_optimization.stage3_prefetch_bucket_size zero_optimization.stage3_param_persistence_threshold "
     "zero_optimization.stage3_max_live_parameters zero_optimization.stage3_max_reuse_distance "
     "zero_optimization.zero_hpz_partition_size zero_optimization.zero_quantized_weights "
     "zero_optimization.zero_quantized_gradients zero_optimization.use_multi_rank_bucket_allreduce "
     "zero_optimization.overlap_comm zero_optimization.stage",
     "optimizer.params.* scheduler.* gradient_clipping wall_clock_breakdown steps_per_print dump_state "
     "zero_optimization.contiguous_gradients zero_optimization.sub_group_size zero_optimization.allgather_partitions "
     "zero_optimization.reduce_scatter zero_optimization.round_robin_gradients "
     "zero_optimization.stage3_gather_* zero_optimization.offload_optimizer.* zero_optimization.offload_param.* "
     "zero_optimization.ignore_unused_parameters zero_optimization.elastic_checkpoint "
     "zero_optimization.load_from_fp32_weights zero_optimization.memory_efficient_linear zero_allow_* "
     "zero_force_ds_cpu_optimizer fp16.* bf16.* bfloat16.* tensorboard.* wandb.* csv_monitor.* comms_logger.* comet.* "
     "flops_profiler.* activation_checkpointing.* checkpoint.* aio.* elasticity.* data_types.* seed memory_breakdown "
     "gradient_predivide_factor prescale_gradients load_universal_checkpoint autotuning.* data_efficiency.* timers.*"},
    {"Hugging Face",
     "fsdp_config.fsdp_sharding_strategy fsdp_config.fsdp_reshard_after_forward fsdp_config.fsdp_backward_prefetch "
     "fsdp_config.fsdp_auto_wrap_policy fsdp_config.fsdp_min_num_params fsdp_config.fsdp_version "
     "fsdp_config.fsdp_activation_checkpointing fsdp_config.fsdp_offload_params fsdp_config.fsdp_forward_prefetch "
     "fsdp_config.fsdp_cpu_offload fsdp_config.backward_prefetch fsdp_config.min_num_params fsdp_config.version "
     "fsdp_config.activation_checkpointing fsdp_config.reshard_after_forward fsdp_config.offload_params "
     "deepspeed_config.zero_stage deepspeed_config.gradient_accumulation_steps deepspeed_config.deepspeed_config_file "
     "deepspeed_config.offload_optimizer_device deepspeed_config.offload_param_device num_processes num_machines "
     "ddp_bucket_cap_mb gradient_accumulation_steps lora_r lora_target_modules",
     "compute_environment debug downcast_bf16 enable_cpu_affinity machine_rank main_training_function rdzv_backend "
     "same_network use_cpu tpu_* gpu_ids main_process_* fsdp_config.fsdp_cpu_ram_efficient_loading "
     "fsdp_config.cpu_ram_efficient_loading fsdp_config.fsdp_sync_module_* "
     "fsdp_config.sync_module_states fsdp_config.fsdp_use_orig_params fsdp_config.use_orig_params "
     "fsdp_config.fsdp_state_dict_type fsdp_config.fsdp_transformer_layer_* fsdp_config.transformer_layer_* "
     "fsdp_config.state_dict_type fsdp_config.limit_all_gathers use_parallelism_config "
     "parallelism_config.parallelism_config_cp_comm_strategy parallelism_config.parallelism_config_cp_backend "
     "parallelism_config.parallelism_config_sp_backend parallelism_config.parallelism_config_sp_seq_length* "
     "parallelism_config.parallelism_config_sp_attn_implementation "
     "deepspeed_config.* dynamo_config.* output_dir overwrite_output_dir do_train do_eval do_predict eval_* "
     "evaluation_strategy per_device_eval_* save_* logging_* log_* learning_rate lr_* weight_decay adam_* "
     "max_grad_norm "
     "num_train_epochs max_steps warmup_* seed data_seed dataloader_* run_name disable_tqdm remove_unused_columns "
     "label_* "
     "load_best_model_at_end metric_for_best_model greater_is_better ignore_data_skip report_to push_to_hub* hub_* "
     "resume_from_checkpoint ddp_find_unused_parameters ddp_timeout ddp_backend ddp_broadcast_buffers group_by_length "
     "length_column_name torch_dtype dtype trust_remote_code attn_implementation dataset* data_* train_file "
     "validation_file eval_dataset* preprocessing_* tokenizer* template overwrite_cache plot_loss stage "
     "finetuning_type "
     "max_samples val_size use_fast_tokenizer cache_dir model_revision gradient_checkpointing_kwargs.* lora_alpha "
     "lora_dropout lora_task_type lora_modules_to_save packing_strategy bf16_full_eval tf32 optim_args "
     "model_init_kwargs.* skip_memory_metrics include_* prediction_loss_only neftune_noise_alpha "
     "torch_empty_cache_steps"},
    {"Megatron-LM",
     "num_attention_heads ffn_hidden_size num_query_groups group_query_attention kv_channels swiglu "
     "position_embedding_type vocab_size padded_vocab_size max_position_embeddings hidden_size num_layers "
     "num_virtual_stages_per_pipeline_rank num_layers_per_virtual_pipeline_stage microbatch_group_size_per_vp_stage "
     "use_distributed_optimizer overlap_grad_reduce overlap_param_gather ddp_bucket_size recompute_granularity "
     "num_distributed_optimizer_instances data_parallel_sharding_strategy fsdp_double_buffer "
     "outer_dp_sharding_strategy "
     "suggested_communication_unit_size moe_ffn_hidden_size moe_router_topk moe_shared_expert_intermediate_size "
     "nproc_per_node nnodes",
     "use_mcore_models use_legacy_models transformer_impl attention_backend use_flash_attn attention_dropout "
     "hidden_dropout make_vocab_size_divisible_by init_method_std adam_* weight_decay* clip_grad lr lr_* min_lr "
     "train_iters train_samples exit_* data_* split vocab_file merge_file tokenizer_* train_data_path valid_data_path "
     "test_data_path log_* save save_* load load_* eval_* tensorboard_* wandb_* no_load_* no_save_* no_masked_* "
     "no_bias_* no_rope_fusion no_persist_layer_norm no_gradient_accumulation_fusion no_async_* no_create_* no_mmap* "
     "no_check_for_nan* no_initialization use_dist_ckpt* use_checkpoint_* use_tp_pp_dp_mapping ckpt_* async_save "
     "auto_detect_ckpt_format distributed_backend distributed_timeout_minutes initial_loss_scale loss_scale* "
     "min_loss_scale hysteresis seed rotary_* rope_* use_rope_scaling norm_epsilon apply_layernorm_1p layernorm_* "
     "num_workers dataloader_type finetune reset_* eod_mask_loss mock_data override_opt_param_scheduler "
     "use_checkpoint_opt_param_scheduler manual_gc* profile* timing_log_* bias_* qk_layernorm moe_aux_loss_coeff "
     "moe_z_loss_coeff moe_router_load_balancing_type moe_router_dtype moe_router_score_function "
     "moe_router_pre_softmax "
     "moe_router_bias_update_rate moe_router_num_groups moe_router_group_topk moe_router_topk_scaling_factor "
     "moe_router_fusion moe_permute_fusion moe_per_layer_logging moe_token_drop_policy moe_router_force_load_balancing "
     "attention_softmax_in_fp32 accumulate_allreduce_grads_in_fp32 use_precision_aware_optimizer overlap_p2p_comm "
     "data_parallel_size consumed_* iteration rank local_rank world_size ddp_average_in_collective main_grads_dtype "
     "main_params_dtype exp_avg_dtype exp_avg_sq_dtype cross_entropy_* sgd_momentum muon_* start_weight_decay "
     "end_weight_decay use_cpu_initialization gradient_accumulation_fusion check_for_nan* te_rng_tracker "
     "enable_experimental enable_one_logger no_one_logger one_logger_* use_pytorch_profiler record_memory_history "
     "tiktoken_* decoupled_lr decoupled_min_lr calculate_per_token_loss empty_unused_memory_level fp8_* "
     "no_position_embedding ddp_num_buckets ddp_pad_buckets_for_high_nccl_busbw"},
};

const KnownKeys* keys_of(std::string_view format) {
  const auto found = std::find_if(std::begin(known_keys), std::end(known_keys),
                                  [&](const KnownKeys& one) { return one.format == format; });
  return found == std::end(known_keys) ? nullptr : &*found;
}

// True for a name in capitals: a variable of a script, not a setting.
bool is_variable(std::string_view key) {
  return std::none_of(key.begin(), key.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '.'; });
}

// The key without what people write in several ways: capitals, dashes.
std::string plain(std::string_view key) {
  std::string text = lower_case(key);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

// The key without the numbers of lists: "model.converters" for model.converters.1.
std::string_view without_numbers(std::string_view key) {
  for (std::size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1))
    if (dot + 1 < key.size() && key[dot + 1] >= '0' && key[dot + 1] <= '9') return key.substr(0, dot);
  return key;
}

bool says_nothing(const std::string& value) {
  return value == "None" || value == "null" || value == "False" || value == "false";
}

// True if the texts differ in one place, by at most two letters. Close by edit distance are also keys that differ on
// purpose, such as --moe-router-dtype and --moe-router-topk.
bool is_slip(std::string_view one, std::string_view other) {
  constexpr std::size_t shortest = 6, most = 2;
  if (std::min(one.size(), other.size()) < shortest) return false;
  const std::size_t both = std::min(one.size(), other.size());
  std::size_t begin = 0, end = 0;
  while (begin < both && one[begin] == other[begin]) ++begin;
  while (end < both - begin && one[one.size() - 1 - end] == other[other.size() - 1 - end]) ++end;
  return std::max(one.size(), other.size()) - begin - end <= most;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text, " "))
    if (!word.empty()) words.push_back(word);
  return words;
}

// The key as the file writes it: a flag of a script, or a key.
std::string as_written(const std::string& key, bool in_script) {
  if (!in_script) return key;
  std::string flag = "--" + key;
  if (key.find('.') == std::string::npos) std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

}  // namespace

std::vector<std::string_view> conditional_keys(std::string_view format) {
  const KnownKeys* known = keys_of(format);
  return known ? words_of(known->conditional) : std::vector<std::string_view>();
}

void sort_unread(const Entries& entries, std::string_view format, ConfigFile& config) {
  std::set<std::string, std::less<>> matters, harmless;
  std::vector<std::string_view> prefixes;
  for (const std::string& key : entries.asked()) matters.emplace(without_numbers(key));
  for (const std::string_view word : conditional_keys(format)) matters.emplace(word);
  if (const KnownKeys* known = keys_of(format)) {
    for (const std::string_view keys : {known->harmless, launcher_keys})
      for (const std::string_view word : words_of(keys))
        if (word.ends_with('*'))
          prefixes.push_back(word.substr(0, word.size() - 1));
        else
          harmless.emplace(word);
  }
  // Megatron-LM prints its own names.
  const bool may_be_misspelt = format != "environment" && (format != "Megatron-LM" || entries.is_from_shell());
  for (const Entry* entry : entries.unread()) {
    if (is_variable(entry->key)) continue;
    const std::string_view own = without_numbers(entry->key);
    const std::string key = plain(own);
    const auto is_meant = [&](const std::string& one) { return is_slip(key, one); };
    const bool is_known = harmless.contains(own) || matters.contains(own);
    const auto meant = std::find_if(matters.begin(), matters.end(), is_meant);
    if (!is_known && may_be_misspelt && meant != matters.end())
      throw InputError(entry->place, fmt::format("is no setting of {}", format),
                       fmt::format("did you mean '{}'?", as_written(*meant, entries.is_from_shell())));
    const bool is_ignored = is_known || says_nothing(entry->value) ||
                            std::any_of(prefixes.begin(), prefixes.end(),
                                        [&](std::string_view one) { return entry->key.starts_with(one); });
    (is_ignored ? config.ignored : config.unknown).push_back(entry->key);
  }
}

}  // namespace allreplay
