// The model that Megatron-LM's arguments describe, as a file of models/transformers/.
#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"
#include "sim/base/core/text.hpp"
#include "sim/formats/configs/reader.hpp"

namespace allreplay {

namespace {

std::string flag_of_key(std::string_view key) {
  std::string flag = "--" + std::string(key);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

// Refuses the value of a key, or its absence. `right`: what to write instead.
[[noreturn]] void refuse_model(Entries& entries, std::string_view key, const std::string& what,
                               const std::string& right) {
  const Entry* given = entries.find(key);
  throw InputError(given ? given->place : SourceLocation{entries.file(), flag_of_key(key)}, what,
                   right + "; or --model NAME, or a config.json");
}

std::int64_t required_count(Entries& entries, std::string_view key) {
  if (const auto value = entries.count(key)) return *value;
  const bool is_unset = std::ranges::any_of(
      entries.unset(), [&](const std::string& one) { return one.starts_with(std::string(key) + " "); });
  refuse_model(entries, key,
               is_unset ? "is a variable that the script does not set"
                        : "is not given, so that the file, read as Megatron-LM's arguments, describes no model",
               flag_of_key(key) + " N");
}

// Megatron-LM's "([0]*3+[1]*58)", or the list that its log prints: the blocks with experts are ones. A number N puts
// experts into every Nth block.
std::vector<std::int64_t> blocks_with_experts(std::string_view text) {
  std::vector<std::int64_t> blocks;
  std::size_t begin = 0;  // of the current list
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') begin = blocks.size();
    if (text[i] == '0' || text[i] == '1') blocks.push_back(text[i] - '0');
    if (text[i] != '*') continue;
    std::int64_t times = 0;
    while (i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9' && times < 10'000)
      times = 10 * times + (text[++i] - '0');
    const std::vector<std::int64_t> list(blocks.begin() + static_cast<std::ptrdiff_t>(begin), blocks.end());
    for (std::int64_t time = 1; time < times && blocks.size() < 100'000; ++time)
      blocks.insert(blocks.end(), list.begin(), list.end());
  }
  return blocks;
}

std::int64_t dense_blocks(Entries& entries) {
  constexpr std::string_view key = "moe_layer_freq";
  const std::string text = entries.text(key);
  if (text.empty() || text == "1") return 0;
  const std::vector<std::int64_t> blocks =
      text.find('[') == std::string::npos ? std::vector<std::int64_t>{} : blocks_with_experts(text);
  const auto first = std::find(blocks.begin(), blocks.end(), 1);
  if (first == blocks.end() || std::find(first, blocks.end(), 0) != blocks.end() ||
      std::ssize(blocks) != required_count(entries, "num_layers"))
    refuse_model(entries, key,
                 fmt::format("'{}': only blocks without experts before all with experts are estimated", text),
                 "such as ([0]*1+[1]*N) with N + 1 --num-layers");
  return first - blocks.begin();
}

void add_experts(JsonValue& model, Entries& entries, std::int64_t ffn) {
  const std::int64_t experts = entries.count("num_experts", 0).value_or(0);
  if (experts == 0) return;
  model["experts"] = {{"count", experts},
                      {"top_k", entries.count("moe_router_topk").value_or(2)},
                      {"ffn", entries.count("moe_ffn_hidden_size").value_or(ffn)},
                      {"shared_gate", entries.flag("moe_shared_expert_gate")},
                      {"router_bias", entries.flag("moe_router_enable_expert_bias")}};
  if (const auto shared = entries.count("moe_shared_expert_intermediate_size", 0); shared && *shared > 0)
    model["experts"]["shared_ffn"] = *shared;
  if (const std::int64_t dense = dense_blocks(entries); dense > 0) model["experts"]["dense_layers"] = dense;
}

// Defaults of MLATransformerConfig.
void add_latent_attention(JsonValue& model, Entries& entries) {
  if (!entries.flag("multi_latent_attention")) {
    if (entries.flag("qk_layernorm")) model["qk_norm"] = true;
    return;
  }
  model["latent_attention"] = {{"kv_lora_rank", entries.count("kv_lora_rank").value_or(32)},
                               {"qk_nope_head_dim", entries.count("qk_head_dim").value_or(128)},
                               {"qk_rope_head_dim", entries.count("qk_pos_emb_head_dim").value_or(64)},
                               {"v_head_dim", entries.count("v_head_dim").value_or(128)}};
  if (const auto rank = entries.count("q_lora_rank")) model["latent_attention"]["q_lora_rank"] = *rank;
}

// Rejects blocks that are neither LLaMA's nor GPT-2's. arguments.py: positions are learned by default.
void require_known_blocks(Entries& entries, bool gated, bool rotary, bool biased) {
  const std::string given = entries.text("position_embedding_type");
  if (gated && !rotary)
    refuse_model(entries, "position_embedding_type",
                 given.empty() ? "is not given, and learned positions, Megatron-LM's default, do not go with --swiglu"
                               : fmt::format("'{}' does not go with --swiglu", given),
                 "--position-embedding-type rope");
  if (rotary && !gated)
    refuse_model(entries, "swiglu", "is not given: rotary positions do not go with a plain MLP", "--swiglu");
  if (!gated && !biased)
    refuse_model(entries, "disable_bias_linear", "GPT-2's blocks (no --swiglu, learned positions) have biases",
                 "leave it out, or --swiglu --position-embedding-type rope");
}

std::string model_json_of(Entries& entries) {
  const bool gated = entries.flag("swiglu"), biased = !entries.flag("disable_bias_linear"),
             rotary =
                 entries.flag("use_rotary_position_embeddings") || entries.text("position_embedding_type") == "rope",
             grouped = entries.flag("group_query_attention");
  require_known_blocks(entries, gated, rotary, biased);
  const std::int64_t hidden = required_count(entries, "hidden_size"),
                     heads = required_count(entries, "num_attention_heads");
  const auto count_of = [&](std::string_view key, std::string_view instead) {
    const auto value = entries.count(key);
    return value ? *value : required_count(entries, instead);
  };
  // arguments.py: a gated MLP keeps the number of parameters.
  const std::int64_t usual = gated ? 4 * hidden * 2 / 3 / 64 * 64 : 4 * hidden;
  const std::int64_t ffn = entries.count("ffn_hidden_size").value_or(usual);
  JsonValue model{{"family", gated ? "llama" : "gpt2"},
                  {"source", "the arguments of Megatron-LM in " + entries.file()},
                  {"layers", required_count(entries, "num_layers")},
                  {"hidden", hidden},
                  {"heads", heads},
                  {"kv_heads", grouped ? entries.count("num_query_groups").value_or(1) : heads},
                  {"ffn", ffn},
                  {"vocab", count_of("padded_vocab_size", "vocab_size")},
                  {"positions", count_of("max_position_embeddings", "seq_length")},
                  {"tied", !entries.flag("untie_embeddings_and_output_weights")}};
  if (const auto size = entries.count("kv_channels"); size && !entries.flag("multi_latent_attention"))
    model["head_size"] = *size;
  add_experts(model, entries, ffn);
  add_latent_attention(model, entries);
  if (gated) {
    model["qkv_bias"] = biased || entries.flag("add_qkv_bias");
    model["mlp_bias"] = biased;
    model["output_bias"] = biased;
  }
  return json_text(model, 1);
}

}  // namespace

std::map<std::string, SourceLocation> places_in_arguments(const Files& files, const std::string& file) {
  static constexpr std::pair<const char*, const char*> arguments[] = {
      {"/layers", "num_layers"},
      {"/hidden", "hidden_size"},
      {"/heads", "num_attention_heads"},
      {"/kv_heads", "num_query_groups"},
      {"/head_size", "kv_channels"},
      {"/ffn", "ffn_hidden_size"},
      {"/vocab", "padded_vocab_size"},
      {"/vocab", "vocab_size"},
      {"/positions", "max_position_embeddings"},
      {"/positions", "seq_length"},
      {"/experts/count", "num_experts"},
      {"/experts/top_k", "moe_router_topk"},
      {"/experts/ffn", "moe_ffn_hidden_size"},
      {"/experts/shared_ffn", "moe_shared_expert_intermediate_size"},
      {"/experts/dense_layers", "moe_layer_freq"},
      {"/latent_attention/kv_lora_rank", "kv_lora_rank"},
      {"/latent_attention/q_lora_rank", "q_lora_rank"},
      {"/latent_attention/qk_nope_head_dim", "qk_head_dim"},
      {"/latent_attention/qk_rope_head_dim", "qk_pos_emb_head_dim"},
      {"/latent_attention/v_head_dim", "v_head_dim"}};
  Entries entries = entries_of_arguments(files.read(file, most_bytes_of_config), file);
  std::map<std::string, SourceLocation> places;
  for (const auto& [path, key] : arguments)
    if (const Entry* given = entries.find(key)) places.try_emplace(path, given->place);
  return places;
}

std::optional<std::string> model_in_arguments(const Files& files, const std::string& file) {
  if (file.ends_with(".json") || !files.is_file(file)) return std::nullopt;
  const std::string text = files.read(file, most_bytes_of_config);
  if (trim(text).starts_with('{')) return std::nullopt;
  Entries entries = entries_of_arguments(text, file);
  return model_json_of(entries);
}

}  // namespace allreplay
