// Reads Hugging Face's config.json: the keys and defaults of each model_type's configuration class.
#include "sim/inputs/estimate/hugging_face.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/named.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t most_layers = 1'000'000'000;

// Returns the default of the configuration class for a missing key, and records it in `t.left_out`.
std::int64_t count_or_note(Transformer& t, const Json& json, const char* key, std::int64_t default_value) {
  const std::int64_t value = count_or(json, key, 0);
  if (value == 0) t.left_out.push_back(fmt::format("{} {}", key, default_value));
  return value == 0 ? default_value : value;
}

Transformer read_gpt2(const Json& json) {
  Transformer t;
  t.family = Family::Gpt2;
  t.layers = count_or_note(t, json, "n_layer", 12);
  t.hidden = count_or_note(t, json, "n_embd", 768);
  t.heads = t.kv_heads = count_or_note(t, json, "n_head", 12);
  t.ffn = count_or(json, "n_inner", 4 * t.hidden);
  t.vocab = count_or_note(t, json, "vocab_size", 50257);
  t.positions = count_or_note(t, json, "n_positions", 1024);
  t.tied = flag_or(json, "tie_word_embeddings", true);
  return t;
}

Transformer read_bert(const Json& json) {
  Transformer t;
  t.family = Family::Bert;
  t.layers = count_or_note(t, json, "num_hidden_layers", 12);
  t.hidden = count_or_note(t, json, "hidden_size", 768);
  t.heads = t.kv_heads = count_or_note(t, json, "num_attention_heads", 12);
  t.ffn = count_or_note(t, json, "intermediate_size", 3072);
  t.vocab = count_or_note(t, json, "vocab_size", 30522);
  t.positions = count_or_note(t, json, "max_position_embeddings", 512);
  t.types = count_or(json, "type_vocab_size", 2);
  return t;
}

// Numbers of a model, as defaults. kv_heads: 0 is as many as heads; head_size: 0 is hidden / heads; ffn: 0 is 4·hidden.
struct Widths {
  std::int64_t layers, hidden, heads, kv_heads, head_size, ffn, vocab, positions;
};

// The parts of a block that differ.
struct BlockParts {
  bool tied = false;
  Norms norms = Norms::Before;
  bool qk_norm = false, qk_norm_whole = false, fused = false;
  const char* bias = nullptr;  // the key of its biases
  bool is_biased = false;
  const char* mlp_bias = nullptr;  // the key of those of its MLP, if they have one: LLaMA and its relatives
  bool has_qkv_bias = false;       // whatever the keys say
  const char* ffn_key = "intermediate_size";
};

// The configuration classes of Hugging Face Transformers, with their defaults.
struct DecoderClass {
  std::string_view name;
  Family family;
  Widths widths;
  BlockParts parts;
};
constexpr DecoderClass decoder_classes[] = {
    {"llama",
     Family::Llama,
     {32, 4096, 32, 0, 0, 11'008, 32'000, 2048},
     {.bias = "attention_bias", .mlp_bias = "mlp_bias"}},
    {"mistral",
     Family::Llama,
     {32, 4096, 32, 8, 0, 14'336, 32'000, 131'072},
     {.bias = "attention_bias", .mlp_bias = "mlp_bias"}},
    {"qwen2",
     Family::Llama,
     {32, 4096, 32, 32, 0, 22'016, 151'936, 32'768},
     {.mlp_bias = "mlp_bias", .has_qkv_bias = true}},
    {"qwen3",
     Family::Llama,
     {32, 4096, 32, 32, 128, 22'016, 151'936, 32'768},
     {.qk_norm = true, .bias = "attention_bias", .mlp_bias = "mlp_bias"}},
    {"gemma2",
     Family::Llama,
     {26, 2304, 8, 4, 256, 9216, 256'000, 8192},
     {.tied = true, .norms = Norms::Both, .bias = "attention_bias"}},
    {"gemma3_text",
     Family::Llama,
     {26, 2304, 8, 4, 256, 9216, 262'208, 131'072},
     {.tied = true, .norms = Norms::Both, .qk_norm = true, .bias = "attention_bias"}},
    {"phi3", Family::Llama, {32, 3072, 32, 0, 0, 8192, 32'064, 4096}, {.fused = true}},
    {"olmo2",
     Family::Llama,
     {32, 4096, 32, 0, 0, 11'008, 50'304, 2048},
     {.norms = Norms::After, .qk_norm = true, .qk_norm_whole = true, .bias = "attention_bias"}},
    {"opt",
     Family::Opt,
     {12, 768, 12, 0, 0, 3072, 50'272, 2048},
     {.tied = true, .bias = "enable_bias", .is_biased = true, .ffn_key = "ffn_dim"}},
    {"gpt_neox",
     Family::GptNeox,
     {44, 6144, 64, 0, 0, 24'576, 50'432, 2048},
     {.bias = "attention_bias", .is_biased = true}},
    {"falcon",
     Family::Falcon,
     {32, 4544, 71, 0, 0, 0, 65'024, 2048},
     {.tied = true, .bias = "bias", .ffn_key = "ffn_hidden_size"}},
};

// The classes of mixtures of experts.
struct MixtureClass {
  std::string_view name;
  std::int64_t layers, hidden, heads, kv_heads, head_size, ffn, vocab, positions, experts, top_k, expert_ffn;
};
constexpr MixtureClass mixture_classes[] = {
    {"mixtral", 32, 4096, 32, 8, 0, 14336, 32000, 131072, 8, 2, 14336},
    {"qwen2_moe", 24, 2048, 16, 16, 0, 5632, 151936, 32768, 60, 4, 1408},
    {"qwen3_moe", 24, 2048, 32, 4, 0, 6144, 151936, 32768, 128, 8, 768},
    {"deepseek_v3", 61, 7168, 128, 128, 0, 18432, 129280, 4096, 256, 8, 2048},
    {"gpt_oss", 36, 2880, 64, 8, 64, 2880, 201088, 131072, 128, 4, 2880},
};

void require_flag(const Json& json, const char* key, bool value, const char* what) {
  if (flag_or(json, key, value) != value) json.at(key).fail(what, value ? "true" : "false");
}

// One head of keys and values for all queries, unless its number is given; one normalisation for attention and MLP,
// which run side by side, unless the newer blocks have two.
void take_falcon(const Json& json, Transformer& t) {
  const bool is_new = flag_or(json, "new_decoder_architecture", false), parallel = flag_or(json, "parallel_attn", true);
  if (!is_new) t.kv_heads = flag_or(json, "multi_query", true) ? 1 : t.heads;
  t.shared_norm = is_new ? count_or(json, "num_ln_in_parallel_attn", 2) == 1 : parallel;
}

void take_opt(const Json& json, Transformer& t) {
  if (count_or(json, "word_embed_proj_dim", t.hidden) != t.hidden)
    json.at("word_embed_proj_dim").fail("embeddings of another width are not estimated", fmt::format("{}", t.hidden));
  require_flag(json, "do_layer_norm_before", true, "blocks that normalise behind a branch are not estimated");
  require_flag(json, "layer_norm_elementwise_affine", true, "normalisations without weights are not estimated");
}

// Rejects experts in a configuration whose type has none.
void require_no_experts(const Json& json, std::string_view type) {
  for (const auto key : {"num_local_experts", "num_experts", "n_routed_experts"})
    if (const auto experts = json.find(key); experts && experts->is_number())
      experts->fail(fmt::format("'{}' has no experts that can be estimated", type), choices(names_of(mixture_classes)));
}

Transformer read_decoder(const Json& json, const DecoderClass& known) {
  const Widths& usual = known.widths;
  const BlockParts& parts = known.parts;
  if (parts.mlp_bias) require_no_experts(json, known.name);
  Transformer t;
  t.family = known.family;
  t.layers = count_or_note(t, json, "num_hidden_layers", usual.layers);
  t.hidden = count_or_note(t, json, "hidden_size", usual.hidden);
  t.heads = count_or_note(t, json, "num_attention_heads", usual.heads);
  const char* const shared = t.family == Family::Falcon ? "num_kv_heads" : "num_key_value_heads";
  t.kv_heads = count_or(json, shared, usual.kv_heads > 0 ? usual.kv_heads : t.heads);
  t.head_size = count_or(json, "head_dim", usual.head_size);
  t.ffn =
      usual.ffn > 0 ? count_or_note(t, json, parts.ffn_key, usual.ffn) : count_or(json, parts.ffn_key, 4 * t.hidden);
  t.vocab = count_or_note(t, json, "vocab_size", usual.vocab);
  t.positions = count_or_note(t, json, "max_position_embeddings", usual.positions);
  t.tied = flag_or(json, "tie_word_embeddings", parts.tied);
  t.norms = parts.norms;
  t.qk_norm = parts.qk_norm;
  t.qk_norm_whole = parts.qk_norm_whole;
  t.fused = parts.fused;
  t.qkv_bias = t.output_bias = parts.bias && flag_or(json, parts.bias, parts.is_biased);
  // GPT-NeoX's key is only of attention.
  t.mlp_bias = parts.mlp_bias ? flag_or(json, parts.mlp_bias, false)
                              : t.family == Family::GptNeox || (t.family != Family::Llama && t.qkv_bias);
  t.qkv_bias = t.qkv_bias || parts.has_qkv_bias;
  if (t.family == Family::Falcon) take_falcon(json, t);
  if (t.family == Family::Opt) take_opt(json, t);
  return t;
}

// The layers without experts: those before the first with them. Other patterns are refused.
std::int64_t dense_layers(const Transformer& t, const Json& json) {
  if (count_or(json, "decoder_sparse_step", 1) != 1)
    json.at("decoder_sparse_step").fail("blocks with and without experts alternate, which is not estimated", "1");
  if (count_or(json, "moe_layer_freq", 1) != 1)
    json.at("moe_layer_freq").fail("blocks with and without experts alternate, which is not estimated", "1");
  std::int64_t first = 0;
  if (const auto dense = json.find("first_k_dense_replace")) first = dense->integer(0, most_layers);
  const auto list = json.find("mlp_only_layers");
  if (!list || list->dump() == "null") return first;
  for (const Json& one : list->items())
    if (one.integer(0, most_layers) != first++)
      one.fail("a block without experts behind one with them, which is not estimated",
               fmt::format("the first of the {} layers", t.layers));
  return first;
}

Transformer read_mixture_of_experts(const Json& json, const MixtureClass& usual) {
  const bool deepseek = usual.name == "deepseek_v3", gpt_oss = usual.name == "gpt_oss",
             qwen2 = usual.name == "qwen2_moe";
  Transformer t;
  t.layers = count_or_note(t, json, "num_hidden_layers", usual.layers);
  t.hidden = count_or_note(t, json, "hidden_size", usual.hidden);
  t.heads = count_or_note(t, json, "num_attention_heads", usual.heads);
  t.kv_heads = count_or_note(t, json, "num_key_value_heads", usual.kv_heads);
  t.head_size = count_or(json, "head_dim", usual.head_size);
  t.ffn = count_or_note(t, json, "intermediate_size", usual.ffn);
  t.vocab = count_or_note(t, json, "vocab_size", usual.vocab);
  t.positions = count_or_note(t, json, "max_position_embeddings", usual.positions);
  t.tied = flag_or(json, "tie_word_embeddings", false);
  t.qkv_bias = flag_or(json, qwen2 ? "qkv_bias" : "attention_bias", qwen2 || gpt_oss);
  t.output_bias = !qwen2 && t.qkv_bias;
  t.qk_norm = usual.name == "qwen3_moe";
  t.sinks = gpt_oss;
  const bool own_count = json.find("num_experts").has_value();
  const char* experts = deepseek                          ? "n_routed_experts"
                        : qwen2 || t.qk_norm || own_count ? "num_experts"
                                                          : "num_local_experts";
  t.experts.count = count_or_note(t, json, experts, usual.experts);
  t.experts.top_k = count_or_note(t, json, "num_experts_per_tok", usual.top_k);
  t.experts.ffn =
      usual.ffn == usual.expert_ffn ? t.ffn : count_or_note(t, json, "moe_intermediate_size", usual.expert_ffn);
  t.experts.dense_layers = dense_layers(t, json);
  t.experts.router_bias = deepseek || gpt_oss;
  t.experts.bias = gpt_oss;
  if (qwen2) t.experts.shared_ffn = count_or_note(t, json, "shared_expert_intermediate_size", 5632);
  t.experts.shared_gate = qwen2;
  if (!deepseek) return t;
  if (!json.find("first_k_dense_replace")) t.experts.dense_layers = 3;
  t.experts.shared_ffn = t.experts.ffn * count_or_note(t, json, "n_shared_experts", 1);
  t.latent.kv_rank = count_or_note(t, json, "kv_lora_rank", 512);
  const auto query_rank = json.find("q_lora_rank");  // null: queries are not compressed
  t.latent.query_rank = query_rank && query_rank->dump() == "null" ? 0 : count_or_note(t, json, "q_lora_rank", 1536);
  t.latent.rope = count_or_note(t, json, "qk_rope_head_dim", 64);
  t.head_size = t.latent.rope + count_or_note(t, json, "qk_nope_head_dim", 128);
  t.value_size = count_or_note(t, json, "v_head_dim", 128);
  return t;
}

Transformer read_vit(const Json& json) {
  Transformer t;
  t.family = Family::Vit;
  t.layers = count_or_note(t, json, "num_hidden_layers", 12);
  t.hidden = count_or_note(t, json, "hidden_size", 768);
  t.heads = t.kv_heads = count_or_note(t, json, "num_attention_heads", 12);
  t.ffn = count_or_note(t, json, "intermediate_size", 3072);
  t.image = count_or_note(t, json, "image_size", 224);
  t.patch = count_or_note(t, json, "patch_size", 16);
  t.channels = count_or(json, "num_channels", 3);
  t.qkv_bias = flag_or(json, "qkv_bias", true);
  t.classes = count_or(json, "num_labels", 2);  // the library's default
  if (const auto labels = json.find("id2label"); labels && labels->is_object())
    t.classes = static_cast<std::int64_t>(std::max<std::size_t>(1, labels->members().size()));
  return t;
}

}  // namespace

Transformer transformer_of_config(const Json& json) {
  const std::string type = json.at("model_type").text();
  Transformer t;
  if (type == "gpt2")
    t = read_gpt2(json);
  else if (type == "bert")
    t = read_bert(json);
  else if (type == "vit")
    t = read_vit(json);
  else if (const MixtureClass* const mixture = row_named(mixture_classes, type))
    t = read_mixture_of_experts(json, *mixture);
  else if (const DecoderClass* const decoder = row_named(decoder_classes, type))
    t = read_decoder(json, *decoder);
  else
    json.at("model_type")
        .fail(fmt::format("'{}' is not an architecture that can be estimated", type),
              fmt::format("gpt2, bert, vit, {}, {}", fmt::join(names_of(mixture_classes), ", "),
                          fmt::join(names_of(decoder_classes), ", ")));
  t.source = fmt::format("Hugging Face configuration, model_type {}", type);
  return t;
}

SourceLocation place_in_config(const Json& json, std::string_view name) {
  static constexpr std::pair<std::string_view, const char*> keys[] = {
      {"layers", "num_hidden_layers"},
      {"layers", "n_layer"},
      {"hidden", "hidden_size"},
      {"hidden", "n_embd"},
      {"heads", "num_attention_heads"},
      {"heads", "n_head"},
      {"kv_heads", "num_key_value_heads"},
      {"kv_heads", "num_kv_heads"},
      {"head_size", "head_dim"},
      {"ffn", "intermediate_size"},
      {"ffn", "ffn_hidden_size"},
      {"ffn", "ffn_dim"},
      {"ffn", "n_inner"},
      {"vocab", "vocab_size"},
      {"positions", "max_position_embeddings"},
      {"positions", "n_positions"},
      {"value_size", "v_head_dim"},
      {"experts/count", "num_experts"},
      {"experts/count", "num_local_experts"},
      {"experts/count", "n_routed_experts"},
      {"experts/top_k", "num_experts_per_tok"},
      {"experts/ffn", "moe_intermediate_size"},
      {"experts/shared_ffn", "shared_expert_intermediate_size"},
      {"experts/dense_layers", "first_k_dense_replace"},
      {"image", "image_size"},
      {"patch", "patch_size"},
      {"classes", "num_labels"}};
  for (const auto& [own, key] : keys)
    if (own == name)
      if (const auto given = json.find(key)) return given->place();
  return json.place();
}

}  // namespace allreplay
