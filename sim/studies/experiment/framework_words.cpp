#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/named.hpp"
#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/offer.hpp"
#include "sim/studies/experiment/layouts.hpp"

namespace allreplay {

namespace {

std::string megatron_words(const LayoutSearch& search, const ModelLayout& one, const std::string& gradient_flags) {
  std::vector<std::string> words;
  const auto add = [&](std::string_view flag, std::int64_t value, std::int64_t usual = 1) {
    if (value != usual) words.push_back(fmt::format("{} {}", flag, value));
  };
  add("--tensor-model-parallel-size", one.tp);
  if (one.tp > 1) words.emplace_back("--sequence-parallel");
  add("--context-parallel-size", one.cp);
  if (one.cp > 1) words.emplace_back("--cp-comm-type all_gather");
  if (search.model.experts.count > 0) {
    add("--num-experts", search.model.experts.count, 0);
    add("--moe-router-topk", search.model.experts.top_k, 0);
    words.emplace_back("--moe-grouped-gemm --moe-token-dispatcher-type alltoall");
    add("--expert-model-parallel-size", one.ep);
    if (one.ep_overlap) words.emplace_back("--overlap-moe-expert-parallel-comm");
  }
  add("--pipeline-model-parallel-size", one.pp);
  add("--num-virtual-stages-per-pipeline-rank", one.chunks);
  // megatron/core/transformer/transformer_block.py, get_num_layers_to_build(): embedding and loss count as layers.
  if (one.first_less <= 1 && one.last_less <= 1) {
    if (one.first_less > 0) words.emplace_back("--account-for-embedding-in-pipeline-split");
    if (one.last_less > 0) words.emplace_back("--account-for-loss-in-pipeline-split");
  } else {
    const std::int64_t each = (search.model.layers + one.first_less + one.last_less) / one.pp;
    add("--decoder-first-pipeline-num-layers", each - one.first_less, 0);
    add("--decoder-last-pipeline-num-layers", each - one.last_less, 0);
  }
  add("--micro-batch-size", one.samples, 0);
  add("--global-batch-size", search.global_batch, 0);
  if (search.precision == "bf16" || search.precision == "fp16") words.push_back("--" + search.precision);
  if (one.recompute == Recompute::Full)
    words.emplace_back("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
  words.push_back(gradient_flags);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string torchtitan_words(const LayoutSearch& search, const ModelLayout& one, bool muon) {
  static const std::map<std::string, std::string, std::less<>> schedules{{"1f1b", "1F1B"},
                                                                         {"interleaved", "Interleaved1F1B"},
                                                                         {"zb-h1", "InterleavedZeroBubble"},
                                                                         {"zbv", "ZBVZeroBubble"}};
  const std::int64_t replicas = search.workers / (one.pp * one.tp * one.cp);
  std::string text = fmt::format(
      "--parallelism.data_parallel_shard_degree {} --parallelism.tensor_parallel_degree {} "
      "--parallelism.context_parallel_degree {} --parallelism.pipeline_parallel_degree {} ",
      replicas, one.tp, one.cp, one.pp);
  if (one.ep > 1) text += fmt::format("--parallelism.expert_parallel_degree {} ", one.ep);
  if (one.pp > 1)
    text += fmt::format(
        "--parallelism.pipeline_parallel_schedule {} --parallelism.pipeline_parallel_layers_per_stage {} "
        "--parallelism.pipeline_parallel_first_stage_less_layers {} "
        "--parallelism.pipeline_parallel_last_stage_less_layers {} "
        "--parallelism.pipeline_parallel_microbatch_size {} ",
        schedules.at(one.schedule), (search.model.layers + one.first_less + one.last_less) / (one.pp * one.chunks),
        one.first_less, one.last_less, one.samples);
  return text + fmt::format(
                    "--training.local_batch_size {} --training.global_batch_size {} --training.seq_len {} "
                    "--training.mixed_precision_param {} --training.mixed_precision_reduce float32 "
                    "--activation_checkpoint.mode {}{}{}",
                    one.pp > 1 ? one.samples * one.micro_batches : one.samples, search.global_batch, search.tokens,
                    search.precision == "bf16" ? "bfloat16" : "float32", name_of(recompute_rules, one.recompute),
                    one.recompute == Recompute::Selective ? " --activation_checkpoint.selective_ac_option op" : "",
                    muon ? " --optimizer.name Muon" : "");
}

}  // namespace

// Megatron-LM, megatron/training/arguments.py, validate_args() (commit 000c4ac2): with --bf16,
// accumulate_allreduce_grads_in_fp32 is set unless --grad-reduce-in-bf16 is given; with --fp16 it is off by default.
// torchtitan (commit 6404b932), torchtitan/config/job_config.py, Training.mixed_precision_reduce: "float32" is the
// default and the only choice, and mixed_precision_param is "bfloat16" or "float32".
std::optional<std::string_view> reduction_type(std::string_view strategy, std::string_view precision) {
  if (strategy == "megatron" && precision == "bf16") return "fp32";
  if (strategy == "fsdp2" && (precision == "bf16" || precision == "fp16")) return "fp32";
  return std::nullopt;
}

std::pair<std::string, std::string> framework_words(const LayoutSearch& search, const ModelLayout& layout,
                                                    const Scenario& scenario) {
  if (layout.strategy == "megatron")
    return {
        "Megatron-LM",
        megatron_words(search, layout, settings_of(*scenario.strategy, scenario.options.strategy, scenario.profile))};
  // torchtitan has no setting for gradient sums in two bytes, nor for parameters in fp16.
  if (layout.strategy == "fsdp2" && bytes_of_gradient(scenario.profile) == 4 && search.precision != "fp16")
    return {"torchtitan",
            torchtitan_words(search, layout, scenario.options.strategy.muon.optimizer == StepOptimizer::Muon)};
  return {};
}

}  // namespace allreplay
