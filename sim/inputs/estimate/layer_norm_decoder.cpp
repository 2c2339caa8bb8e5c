// Decoders with LayerNorm and an MLP without a gate: OPT, GPT-NeoX and Falcon.
#include <string_view>

#include <fmt/format.h>

#include "sim/inputs/estimate/layer_builder.hpp"

namespace allreplay {

namespace {

// Hugging Face's names of the parts; "" where a family has none.
struct DecoderNames {
  Family family;
  std::string_view words, positions, block, first_norm, attention, projections, output, second_norm, up, down,
      last_norm, head;
};
constexpr DecoderNames decoder_names[] = {
    {Family::Opt, "model.decoder.embed_tokens", "model.decoder.embed_positions", "model.decoder.layers.{}",
     "self_attn_layer_norm", "self_attn", "", "self_attn.out_proj", "final_layer_norm", "fc1", "fc2",
     "model.decoder.final_layer_norm", "lm_head"},
    {Family::GptNeox, "gpt_neox.embed_in", "", "gpt_neox.layers.{}", "input_layernorm", "attention",
     "attention.query_key_value", "attention.dense", "post_attention_layernorm", "mlp.dense_h_to_4h",
     "mlp.dense_4h_to_h", "gpt_neox.final_layer_norm", "embed_out"},
    {Family::Falcon, "transformer.word_embeddings", "", "transformer.h.{}", "ln_attn", "self_attention",
     "self_attention.query_key_value", "self_attention.dense", "ln_mlp", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h",
     "transformer.ln_f", "lm_head"},
};

const DecoderNames& names_of_decoder(Family family) {
  for (const DecoderNames& one : decoder_names)
    if (one.family == family) return one;
  throw std::logic_error("not a decoder with LayerNorm");
}

using Cut = LayerBuilder::Cut;

// Queries, keys and values as one product, or as three that read the same input.
void add_projections(LayerBuilder& build, const DecoderNames& names, const std::string& block) {
  const Transformer& t = build.model();
  const std::int64_t queries = t.heads * t.head_size, keys = t.kv_heads * t.head_size;
  if (!names.projections.empty()) {
    build.dense(fmt::format("{}.{}", block, names.projections), t.hidden, queries + 2 * keys,
                {.cut = Cut::Outputs, .bias = t.qkv_bias});
    return;
  }
  build.projections(fmt::format("{}.{}.", block, names.attention), {"q_proj", "k_proj", "v_proj"}, queries, keys,
                    t.qkv_bias);
}

void add_block(LayerBuilder& build, const DecoderNames& names, const std::string& block) {
  const Transformer& t = build.model();
  const auto name = [&](std::string_view part) { return fmt::format("{}.{}", block, part); };
  // Attention and MLP side by side may read one normalisation.
  build.normalisation(name(t.shared_norm ? "input_layernorm" : names.first_norm), true);
  add_projections(build, names, block);
  build.attention(name(names.attention), true, names.positions.empty());
  build.residual(build.dense(name(names.output), t.heads * t.head_size, t.hidden,
                             {.cut = Cut::Inputs, .bias = t.output_bias, .input_kept = true}));
  if (!t.shared_norm) build.normalisation(name(names.second_norm), true);
  build.gelu(build.dense(name(names.up), t.hidden, t.ffn,
                         {.cut = Cut::Outputs, .bias = t.mlp_bias, .input_kept = t.shared_norm}),
             build.tokens(), t.ffn / build.split().tp);
  build.residual(build.dense(name(names.down), t.ffn, t.hidden, {.cut = Cut::Inputs, .bias = t.mlp_bias}));
}

}  // namespace

void add_layer_norm_decoder(LayerBuilder& build) {
  const Transformer& t = build.model();
  const DecoderNames& names = names_of_decoder(t.family);
  build.begin("embeddings");
  build.embedding(std::string(names.words), t.vocab, true);
  // OPT's table of positions has two rows that no token uses.
  if (!names.positions.empty()) build.embedding(std::string(names.positions), t.positions + 2);
  for (std::int64_t i = 0; i < t.layers; ++i) {
    const std::string block = fmt::format(fmt::runtime(names.block), i);
    build.begin(block, i);
    add_block(build, names, block);
  }
  build.begin("head");
  build.normalisation(std::string(names.last_norm), true);
  build.head(std::string(names.head));
}

}  // namespace allreplay
