#include "sim/inputs/estimate/transformer.hpp"

#include <fmt/format.h>

#include "sim/inputs/estimate/layer_builder.hpp"

namespace allreplay {

std::int64_t Transformer::tokens() const {
  if (family == Family::Vit) return (image / patch) * (image / patch) + 1;  // and the class token
  return positions > 0 ? positions : 2048;
}

void Transformer::complete() {
  if (head_size == 0) head_size = hidden / heads;
  if (value_size == 0) value_size = head_size;
}

namespace {

class Builder : public LayerBuilder {
 public:
  using LayerBuilder::LayerBuilder;

  Computation build() {
    make_layers();
    return std::move(work_);
  }

  // The undivided model, with what is counted of it: 6 FLOPs per active parameter and token, and
  // 6·layers·sequence·heads·(width of queries and of values) for attention's pairs.
  Computation build_whole() {
    make_layers();
    work_.model_parameters = work_.parameters();
    work_.active_parameters = active_parameters(t_, work_);
    const double pairs = number(t_.layers) * number(whole_) * number(t_.heads * (t_.head_size + t_.value_size));
    work_.model_flops = number(whole_) * (6 * number(work_.active_parameters) + 6 * pairs);
    return std::move(work_);
  }

 private:
  void make_layers() {
    switch (t_.family) {
      case Family::Gpt2:
        gpt2();
        break;
      case Family::Bert:
        bert();
        break;
      case Family::Llama:
        llama();
        break;
      case Family::Vit:
        vit();
        break;
      case Family::Opt:
      case Family::GptNeox:
      case Family::Falcon:
        add_layer_norm_decoder(*this);
    }
    work_.name = t_.name;
    work_.description = t_.description;
    work_.source = t_.source;
    work_.tokens = whole_;
    work_.tp = split_.tp;
    work_.cp = split_.cp;
    work_.ep = split_.ep;
    work_.input = t_.family == Family::Vit ? fmt::format("{}x{}x{}", t_.channels, t_.image, t_.image)
                                           : fmt::format("{} tokens", whole_);
    work_.block_input = number(spread_ * t_.hidden);
  }

  void gpt2() {
    begin("embeddings");
    embedding("transformer.wte", t_.vocab, true);
    embedding("transformer.wpe", t_.positions);
    for (std::int64_t i = 0; i < t_.layers; ++i) {
      const std::string name = fmt::format("transformer.h.{}", i);
      begin(name, i);
      normalisation(name + ".ln_1", true);
      dense(name + ".attn.c_attn", t_.hidden, 3 * t_.hidden, {.cut = Cut::Outputs, .transposed = true});
      attention(name + ".attn", true, false);
      residual(dense(name + ".attn.c_proj", t_.hidden, t_.hidden,
                     {.cut = Cut::Inputs, .transposed = true, .input_kept = true}));
      normalisation(name + ".ln_2", true);
      gelu(dense(name + ".mlp.c_fc", t_.hidden, t_.ffn, {.cut = Cut::Outputs, .transposed = true}), tokens_,
           t_.ffn / split_.tp);
      residual(dense(name + ".mlp.c_proj", t_.ffn, t_.hidden, {.cut = Cut::Inputs, .transposed = true}));
    }
    begin("head");
    normalisation("transformer.ln_f", true);
    head("lm_head");
  }

  void bert() {
    begin("embeddings");
    embedding("embeddings.word_embeddings", t_.vocab, true);
    embedding("embeddings.position_embeddings", t_.positions);
    embedding("embeddings.token_type_embeddings", t_.types);
    normalisation("embeddings.LayerNorm", true);
    for (std::int64_t i = 0; i < t_.layers; ++i) {
      const std::string name = fmt::format("encoder.layer.{}", i);
      begin(name, i);
      projections(name + ".attention.self.", {"query", "key", "value"}, t_.hidden, t_.hidden, true);
      attention(name + ".attention.self", false, false);
      residual(dense(name + ".attention.output.dense", t_.hidden, t_.hidden, {.cut = Cut::Inputs, .input_kept = true}));
      normalisation(name + ".attention.output.LayerNorm", true);
      gelu(dense(name + ".intermediate.dense", t_.hidden, t_.ffn, {.cut = Cut::Outputs}), tokens_, t_.ffn / split_.tp);
      residual(dense(name + ".output.dense", t_.ffn, t_.hidden, {.cut = Cut::Inputs}));
      normalisation(name + ".output.LayerNorm", true);
    }
    begin("head");
    dense("pooler.dense", t_.hidden, t_.hidden, {.rows = 1}).kept.elements += number(t_.hidden);
    if (t_.mlm) pretraining();
  }

  // The decoder uses the embedding's tensor, and has none of its own.
  void pretraining() {
    gelu(dense("cls.predictions.transform.dense", t_.hidden, t_.hidden, {}), spread_, t_.hidden);
    normalisation("cls.predictions.transform.LayerNorm", true);
    ComputationLayer& decoder = dense("cls.predictions.decoder", t_.hidden, t_.vocab, {.cut = Cut::Outputs});
    decoder.model.tensors.erase(decoder.model.tensors.begin());
    loss(decoder);
    dense("cls.seq_relationship", t_.hidden, 2, {.rows = 1});
  }

  void llama() {
    begin("embeddings");
    embedding("model.embed_tokens", t_.vocab, true);
    for (std::int64_t i = 0; i < t_.layers; ++i) {
      const std::string name = fmt::format("model.layers.{}", i);
      begin(name, i);
      const bool before = t_.norms != Norms::After, after = t_.norms != Norms::Before;
      if (before) normalisation(name + ".input_layernorm", false);
      if (t_.latent.kv_rank > 0)
        latent_attention(name + ".self_attn");
      else
        llama_attention(name + ".self_attn");
      normalisation(name + ".post_attention_layernorm", false);
      if (t_.norms == Norms::Both) normalisation(name + ".pre_feedforward_layernorm", false);
      if (t_.experts.count > 0 && i >= t_.experts.dense_layers)
        add_expert_mlp(*this, name + ".mlp");
      else
        gated_mlp(name + ".mlp", t_.ffn);
      if (after) normalisation(name + ".post_feedforward_layernorm", false);
    }
    begin("head");
    normalisation("model.norm", false);
    head("lm_head");
  }

  void llama_attention(const std::string& name) {
    const std::int64_t width = t_.heads * t_.head_size, kv = t_.kv_heads * t_.head_size;
    if (t_.fused)
      dense(name + ".qkv_proj", t_.hidden, width + 2 * kv, {.cut = Cut::Outputs, .bias = t_.qkv_bias});
    else
      projections(name + ".", {"q_proj", "k_proj", "v_proj"}, width, kv, t_.qkv_bias);
    if (t_.qk_norm_whole) {
      rms_norm(name + ".q_norm", width / split_.tp, 1, tokens_);
      rms_norm(name + ".k_norm", kv / split_.tp, 1, tokens_);
    } else if (t_.qk_norm) {
      rms_norm(name + ".q_norm", t_.head_size, t_.heads / split_.tp, tokens_);
      rms_norm(name + ".k_norm", t_.head_size, t_.kv_heads / split_.tp, tokens_);
    }
    ComputationLayer& pairs = attention(name, true, true);
    if (t_.sinks) tensor(pairs, name + ".sinks", {t_.heads / split_.tp});
    residual(
        dense(name + ".o_proj", width, t_.hidden, {.cut = Cut::Inputs, .bias = t_.output_bias, .input_kept = true}));
  }

  // Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1), with the normalisations of the compressed
  // vectors.
  void latent_attention(const std::string& name) {
    const LatentAttention& latent = t_.latent;
    // Down-projections are whole on every worker of a tensor group (Megatron-Core, multi_latent_attention.py).
    if (latent.query_rank > 0) {
      dense(name + ".q_a_proj", t_.hidden, latent.query_rank, {.bias = t_.qkv_bias});
      rms_norm(name + ".q_a_layernorm", latent.query_rank, 1, spread_);
      dense(name + ".q_b_proj", latent.query_rank, t_.heads * t_.head_size, {.cut = Cut::Outputs, .bias = false});
    } else {
      dense(name + ".q_proj", t_.hidden, t_.heads * t_.head_size, {.cut = Cut::Outputs, .bias = false});
    }
    // Keys' rotary part is one for all heads, and is not normalised.
    dense(name + ".kv_a_proj_with_mqa", t_.hidden, latent.kv_rank + latent.rope,
          {.bias = t_.qkv_bias, .input_kept = true});
    rms_norm(name + ".kv_a_layernorm", latent.kv_rank, 1, spread_);
    dense(name + ".kv_b_proj", latent.kv_rank, t_.heads * (t_.head_size - latent.rope + t_.value_size),
          {.cut = Cut::Outputs, .bias = false});
    ComputationLayer& pairs = attention(name, true, true);
    share_input(pairs, number(tokens_ * latent.rope));
    residual(dense(name + ".o_proj", t_.heads * t_.value_size, t_.hidden,
                   {.cut = Cut::Inputs, .bias = t_.output_bias, .input_kept = true}));
  }

  void vit() {
    const std::int64_t patches = tokens_ - 1, pixels = t_.channels * t_.patch * t_.patch;
    begin("embeddings");
    const std::string projection = "vit.embeddings.patch_embeddings.projection";
    ComputationLayer& patch = dense(projection, pixels, t_.hidden, {.rows = patches, .first = true});
    patch.model.tensors[0].shape = {t_.hidden, t_.channels, t_.patch, t_.patch};
    ComputationLayer& place = layer("vit.embeddings", 0, tokens_ * t_.hidden);
    tensor(place, "vit.embeddings.cls_token", {1, 1, t_.hidden});
    tensor(place, "vit.embeddings.position_embeddings", {1, tokens_, t_.hidden});
    place.operators.emplace_back(Pass{3 * number(tokens_ * t_.hidden), 2 * number(tokens_ * t_.hidden)});
    for (std::int64_t i = 0; i < t_.layers; ++i) {
      const std::string name = fmt::format("vit.encoder.layer.{}", i);
      begin(name, i);
      normalisation(name + ".layernorm_before", true);
      projections(name + ".attention.attention.", {"query", "key", "value"}, t_.hidden, t_.hidden, t_.qkv_bias);
      attention(name + ".attention.attention", false, false);
      residual(dense(name + ".attention.output.dense", t_.hidden, t_.hidden, {.cut = Cut::Inputs, .input_kept = true}));
      normalisation(name + ".layernorm_after", true);
      gelu(dense(name + ".intermediate.dense", t_.hidden, t_.ffn, {.cut = Cut::Outputs}), tokens_, t_.ffn / split_.tp);
      residual(dense(name + ".output.dense", t_.ffn, t_.hidden, {.cut = Cut::Inputs}));
    }
    begin("head");
    normalisation("vit.layernorm", true);
    dense("classifier", t_.hidden, t_.classes, {.rows = 1});
  }
};

void require_divides(const Transformer& t, std::int64_t tokens, const Split& split) {
  const auto require = [&](const char* option, std::int64_t degree, std::int64_t count, const std::string& what) {
    if (count % degree != 0)
      throw InputError({"command line", option}, fmt::format("{} does not divide {} {}", degree, count, what),
                       fmt::format("a divisor of {}", count));
  };
  require("--tp", split.tp, t.heads, fmt::format("attention heads of {}", t.name));
  require("--tp", split.tp, t.kv_heads, fmt::format("heads of keys and values of {}", t.name));
  if (t.experts.count == 0 || t.experts.dense_layers > 0)
    require("--tp", split.tp, t.ffn, fmt::format("inner outputs of {}", t.name));
  if (split.ep > 1 && t.experts.count == 0)
    throw InputError({"command line", "--ep"}, fmt::format("{} has no experts to divide", t.name),
                     "a mixture of experts, or leave it out");
  if (t.experts.count > 0) {
    require("--ep", split.ep, t.experts.count, fmt::format("experts of {}", t.name));
    require("--tp", split.tp, t.experts.ffn, fmt::format("inner outputs of an expert of {}", t.name));
    require("--tp", split.tp, t.experts.shared_ffn, fmt::format("inner outputs of shared experts of {}", t.name));
  }
  if (split.sequence_parallel && split.tp == 1)
    throw InputError({"command line", "--sequence-parallel"},
                     "splits tokens among a tensor-parallel group, but there is none", "--tp above 1");
  if (split.cp > 1 && tokens % (2 * split.cp) != 0)  // each has an early and a late part, which balances masks
    throw InputError({"command line", "--cp"},
                     fmt::format("{} tokens cannot be split into {} equal parts", tokens, 2 * split.cp),
                     fmt::format("a number N such that 2 x N divides {}", tokens));
  if (split.sequence_parallel && tokens / split.cp % split.tp != 0)
    throw InputError({"command line", "--sequence-parallel"},
                     fmt::format("{} does not divide {} tokens", split.tp, tokens / split.cp),
                     fmt::format("--seq in a multiple of {}", split.tp * split.cp));
}

}  // namespace

Computation build(const Transformer& transformer, std::int64_t tokens, const SourceLocation& place,
                  const Split& split) {
  const std::int64_t own = transformer.tokens();
  if (transformer.family == Family::Vit && tokens != own)
    throw InputError(place, fmt::format("{} sees {} patches and a class token", transformer.name, own - 1),
                     "leave --seq out");
  const bool learned =
      transformer.family == Family::Gpt2 || transformer.family == Family::Bert || transformer.family == Family::Opt;
  if (learned && tokens > transformer.positions)
    throw InputError(place,
                     fmt::format("{} tokens, but {} has {} positions", tokens, transformer.name, transformer.positions),
                     fmt::format("at most {}", transformer.positions));
  require_divides(transformer, tokens, split);
  const Computation whole = Builder(transformer, tokens, place, Split{}).build_whole();
  Computation work = Builder(transformer, tokens, place, split).build();
  work.model_flops = whole.model_flops;
  work.model_parameters = whole.model_parameters;
  work.active_parameters = whole.active_parameters;
  return work;
}

}  // namespace allreplay
