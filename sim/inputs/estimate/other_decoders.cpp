// Decoders of Hugging Face whose blocks differ from LLaMA's: gemma2, gemma3_text, phi3, olmo2, opt, gpt_neox, falcon.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/named.hpp"
#include "sim/inputs/estimate/config_keys.hpp"

namespace allreplay {

namespace {

// Defaults of the configuration classes of Hugging Face Transformers. kv_heads: 0 is as many as heads, head_size: 0 is
// width / heads.
struct DecoderClass {
  std::string_view name;
  Family family = Family::Llama;
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_size = 0, ffn = 0, vocab = 0, positions = 0;
  bool tied = false;
  Norms norms = Norms::Before;
  bool qk_norm = false, qk_norm_whole = false, fused = false;
  const char* bias = nullptr;  // the key of its biases
  bool is_biased = false;
  const char* ffn_key = "intermediate_size";
};
constexpr DecoderClass decoder_classes[] = {
    {.name = "gemma2",
     .layers = 26,
     .hidden = 2304,
     .heads = 8,
     .kv_heads = 4,
     .head_size = 256,
     .ffn = 9216,
     .vocab = 256'000,
     .positions = 8192,
     .tied = true,
     .norms = Norms::Both,
     .bias = "attention_bias"},
    {.name = "gemma3_text",
     .layers = 26,
     .hidden = 2304,
     .heads = 8,
     .kv_heads = 4,
     .head_size = 256,
     .ffn = 9216,
     .vocab = 262'208,
     .positions = 131'072,
     .tied = true,
     .norms = Norms::Both,
     .qk_norm = true,
     .bias = "attention_bias"},
    {.name = "phi3",
     .layers = 32,
     .hidden = 3072,
     .heads = 32,
     .ffn = 8192,
     .vocab = 32'064,
     .positions = 4096,
     .fused = true},
    {.name = "olmo2",
     .layers = 32,
     .hidden = 4096,
     .heads = 32,
     .ffn = 11'008,
     .vocab = 50'304,
     .positions = 2048,
     .norms = Norms::After,
     .qk_norm = true,
     .qk_norm_whole = true,
     .bias = "attention_bias"},
    {.name = "opt",
     .family = Family::Opt,
     .layers = 12,
     .hidden = 768,
     .heads = 12,
     .ffn = 3072,
     .vocab = 50'272,
     .positions = 2048,
     .tied = true,
     .bias = "enable_bias",
     .is_biased = true,
     .ffn_key = "ffn_dim"},
    {.name = "gpt_neox",
     .family = Family::GptNeox,
     .layers = 44,
     .hidden = 6144,
     .heads = 64,
     .ffn = 24'576,
     .vocab = 50'432,
     .positions = 2048,
     .bias = "attention_bias",
     .is_biased = true},
    {.name = "falcon",
     .family = Family::Falcon,
     .layers = 32,
     .hidden = 4544,
     .heads = 71,
     .vocab = 65'024,
     .positions = 2048,
     .tied = true,
     .bias = "bias",
     .ffn_key = "ffn_hidden_size"},
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
  const DecoderClass* const usual = row_named(decoder_classes, type);
  if (!usual) return std::nullopt;
  Transformer t;
  t.family = usual->family;
  t.layers = count_or_note(t, json, "num_hidden_layers", usual->layers);
  t.hidden = count_or_note(t, json, "hidden_size", usual->hidden);
  t.heads = count_or_note(t, json, "num_attention_heads", usual->heads);
  const char* const shared = usual->family == Family::Falcon ? "num_kv_heads" : "num_key_value_heads";
  t.kv_heads = count_or(json, shared, usual->kv_heads > 0 ? usual->kv_heads : t.heads);
  t.head_size = count_or(json, "head_dim", usual->head_size);
  t.ffn = usual->ffn > 0 ? count_or_note(t, json, usual->ffn_key, usual->ffn)
                         : count_or(json, usual->ffn_key, 4 * t.hidden);
  t.vocab = count_or_note(t, json, "vocab_size", usual->vocab);
  t.positions = count_or_note(t, json, "max_position_embeddings", usual->positions);
  t.tied = flag_or(json, "tie_word_embeddings", usual->tied);
  t.norms = usual->norms;
  t.qk_norm = usual->qk_norm;
  t.qk_norm_whole = usual->qk_norm_whole;
  t.fused = usual->fused;
  t.qkv_bias = t.output_bias = usual->bias && flag_or(json, usual->bias, usual->is_biased);
  // GPT-NeoX's key is only of attention.
  t.mlp_bias = usual->family == Family::GptNeox || (usual->family != Family::Llama && t.qkv_bias);
  if (usual->family == Family::Falcon) take_falcon(json, t);
  if (usual->family == Family::Opt) take_opt(json, t);
  return t;
}

std::string other_decoders() { return fmt::format("{}", fmt::join(names_of(decoder_classes), ", ")); }

}  // namespace allreplay
