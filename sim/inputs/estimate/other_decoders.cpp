// Decoders of Hugging Face whose blocks differ from LLaMA's: gemma2, gemma3_text, phi3, olmo2, opt, gpt_neox, falcon.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/named.hpp"
#include "sim/inputs/estimate/config_keys.hpp"

namespace allreplay {

namespace {

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

}  // namespace

std::optional<Transformer> read_other_decoder(const Json& json, const std::string& type) {
  const DecoderClass* const known = row_named(decoder_classes, type);
  if (!known) return std::nullopt;
  const Widths& usual = known->widths;
  const BlockParts& parts = known->parts;
  Transformer t;
  t.family = known->family;
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
  t.mlp_bias = t.family == Family::GptNeox || (t.family != Family::Llama && t.qkv_bias);
  if (t.family == Family::Falcon) take_falcon(json, t);
  if (t.family == Family::Opt) take_opt(json, t);
  return t;
}

std::string other_decoders() { return fmt::format("{}", fmt::join(names_of(decoder_classes), ", ")); }

}  // namespace allreplay
