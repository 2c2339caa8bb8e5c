#include "sim/estimate/transformer.hpp"

#include <fmt/format.h>

namespace allreplay {

std::int64_t Transformer::tokens() const {
  if (family == Family::Vit) return (image / patch) * (image / patch) + 1;  // and the class token
  return positions > 0 ? positions : 2048;
}

namespace {

using Shape = std::vector<std::int64_t>;

double number(std::int64_t value) { return static_cast<double>(value); }

class Builder {
 public:
  Builder(const Transformer& transformer, std::int64_t tokens, const SourceLocation& place)
      : t_(transformer),
        tokens_(tokens),
        place_(place),
        dropout_(t_.family == Family::Gpt2 || t_.family == Family::Bert) {}

  Computation build() {
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
    }
    work_.name = t_.name;
    work_.description = t_.description;
    work_.source = t_.source;
    work_.tokens = tokens_;
    work_.input = t_.family == Family::Vit ? fmt::format("{}x{}x{}", t_.channels, t_.image, t_.image)
                                           : fmt::format("{} tokens", tokens_);
    work_.block_input = number(tokens_ * t_.hidden);
    // 6 per parameter and token, and 12·layers·hidden·sequence for attention's pairs.
    work_.model_flops = number(tokens_) *
                        (6 * number(work_.parameters()) + 12 * number(t_.layers) * number(t_.hidden) * number(tokens_));
    return std::move(work_);
  }

 private:
  // Beyond what a model file may say, products of these numbers would no longer be exact.
  std::int64_t counted(double value, double limit) const {
    if (value > limit)
      throw InputError(place_, fmt::format("{} has a layer of {:.3g} operations or elements", t_.name, value),
                       fmt::format("at most {:.3g}", limit));
    return static_cast<std::int64_t>(value);
  }

  ComputationLayer& layer(const std::string& name, double macs, std::int64_t outputs) {
    ComputationLayer layer;
    layer.model.name = name;
    layer.model.forward_macs = counted(macs, 0x1p53);
    layer.model.activation_bytes = counted(4 * number(outputs), 0x1p53);
    layer.group = group_;
    layer.block = block_;
    work_.layers.push_back(std::move(layer));
    return work_.layers.back();
  }

  void tensor(ComputationLayer& layer, const std::string& name, Shape shape) const {
    double product = 1;
    for (const std::int64_t extent : shape) product *= number(extent);
    const std::int64_t elements = counted(product, 1e12);
    layer.model.tensors.push_back({name, std::move(shape), elements});
  }

  void embedding(const std::string& name, std::int64_t rows) {
    const std::int64_t outputs = tokens_ * t_.hidden;
    ComputationLayer& one = layer(name, 0, outputs);
    tensor(one, name + ".weight", {rows, t_.hidden});
    one.operators.emplace_back(Pass{2 * number(outputs), number(outputs), number(rows * t_.hidden)});
    one.kept.bytes = one.kept_selective.bytes = 8 * number(tokens_);  // the indices
  }

  // LayerNorm (with bias) keeps mean and deviation of each token, RMSNorm (without) one number.
  void normalisation(const std::string& name, bool bias) {
    const std::int64_t outputs = tokens_ * t_.hidden;
    ComputationLayer& one = layer(name, 2 * number(outputs), outputs);
    tensor(one, name + ".weight", {t_.hidden});
    if (bias) tensor(one, name + ".bias", {t_.hidden});
    one.operators.emplace_back(Pass{2 * number(outputs), 3 * number(outputs)});
    one.kept = {number(outputs), (bias ? 8 : 4) * number(tokens_)};
    if (block_ < 0) one.kept_selective = one.kept;
  }

  struct Dense {
    bool bias = true;
    bool transposed = false;  // GPT-2 stores [inputs, outputs]
    bool input_kept = false;  // by the layer before: only one keeps what several read
    std::int64_t rows = 0;    // 0: one for each token
    bool first = false;
  };
  ComputationLayer& dense(const std::string& name, std::int64_t inputs, std::int64_t outputs, Dense how) {
    const std::int64_t rows = how.rows > 0 ? how.rows : tokens_;
    ComputationLayer& one = layer(name, number(rows) * number(inputs) * number(outputs), rows * outputs);
    tensor(one, name + ".weight", how.transposed ? Shape{inputs, outputs} : Shape{outputs, inputs});
    if (how.bias) tensor(one, name + ".bias", {outputs});
    one.operators.emplace_back(Product{rows, inputs, outputs, number(rows * inputs), !how.first});
    if (how.bias) one.operators.emplace_back(Pass{0, number(rows * outputs)});  // the bias's gradient is a sum
    if (!how.input_kept) one.kept.elements = number(rows * inputs);
    if (block_ >= 0)
      one.kept_selective.elements = number(rows * outputs);
    else
      one.kept_selective = one.kept;
    return one;
  }

  void attention(const std::string& name, bool causal, bool rotary) {
    const std::int64_t width = t_.heads * t_.head_size, kv = t_.kv_heads * t_.head_size;
    // The MACs of models/: all pairs of tokens, whatever a causal mask leaves out.
    ComputationLayer& one = layer(name, 2 * number(tokens_) * number(tokens_) * number(width), tokens_ * width);
    if (rotary)
      one.operators.emplace_back(Pass{2 * number(tokens_ * (width + kv)), 2 * number(tokens_ * (width + kv))});
    one.operators.emplace_back(Attention{tokens_, t_.heads, t_.kv_heads, t_.head_size, causal});
    const double sums = 4 * number(tokens_ * t_.heads);  // of the softmax, in fp32
    one.kept = {number(tokens_ * (2 * width + 2 * kv)), sums};
    one.kept_selective = {number(tokens_ * width), sums};
  }

  // The end of a branch: dropout where the family has it, and the residual's addition.
  void residual(ComputationLayer& one) const {
    const double outputs = number(tokens_ * t_.hidden);
    one.operators.emplace_back(Pass{3 * outputs, 3 * outputs});
    if (!dropout_) return;
    one.operators.emplace_back(Pass{2 * outputs, 2 * outputs});
    one.kept.bytes += outputs;  // a mask of a byte each
    one.kept_selective.bytes += outputs;
  }

  // GELU keeps what it reads.
  void gelu(ComputationLayer& one, std::int64_t width) const {
    const double outputs = number(tokens_ * width);
    one.operators.emplace_back(Pass{2 * outputs, 3 * outputs});
    one.kept.elements += outputs;
  }

  // The logits of each token and their cross-entropy, whose logarithms are kept in fp32.
  void loss(ComputationLayer& one) const {
    const double logits = number(tokens_ * t_.vocab);
    one.operators.emplace_back(Pass{4 * logits, 4 * logits});
    one.kept.bytes += 4 * logits;
    one.kept_selective.bytes += 4 * logits;
  }

  void begin(const std::string& group, std::int64_t block = -1) {
    group_ = group;
    block_ = block;
  }

  void gpt2() {
    begin("embeddings");
    embedding("transformer.wte", t_.vocab);
    embedding("transformer.wpe", t_.positions);
    for (std::int64_t i = 0; i < t_.layers; ++i) {
      const std::string name = fmt::format("transformer.h.{}", i);
      begin(name, i);
      normalisation(name + ".ln_1", true);
      dense(name + ".attn.c_attn", t_.hidden, 3 * t_.hidden, {.transposed = true});
      attention(name + ".attn", true, false);
      residual(dense(name + ".attn.c_proj", t_.hidden, t_.hidden, {.transposed = true, .input_kept = true}));
      normalisation(name + ".ln_2", true);
      gelu(dense(name + ".mlp.c_fc", t_.hidden, t_.ffn, {.transposed = true}), t_.ffn);
      residual(dense(name + ".mlp.c_proj", t_.ffn, t_.hidden, {.transposed = true}));
    }
    begin("head");
    normalisation("transformer.ln_f", true);
    head("lm_head");
  }

  // The output projection; tied, it shares the embedding's tensor, whose gradient ends there.
  void head(const std::string& name) {
    ComputationLayer& one = dense(name, t_.hidden, t_.vocab, {.bias = false});
    if (t_.tied) one.model.tensors.clear();
    loss(one);
  }

  void bert() {
    begin("embeddings");
    embedding("embeddings.word_embeddings", t_.vocab);
    embedding("embeddings.position_embeddings", t_.positions);
    embedding("embeddings.token_type_embeddings", t_.types);
    normalisation("embeddings.LayerNorm", true);
    for (std::int64_t i = 0; i < t_.layers; ++i) {
      const std::string name = fmt::format("encoder.layer.{}", i);
      begin(name, i);
      dense(name + ".attention.self.query", t_.hidden, t_.hidden, {});
      dense(name + ".attention.self.key", t_.hidden, t_.hidden, {.input_kept = true});
      dense(name + ".attention.self.value", t_.hidden, t_.hidden, {.input_kept = true});
      attention(name + ".attention.self", false, false);
      residual(dense(name + ".attention.output.dense", t_.hidden, t_.hidden, {.input_kept = true}));
      normalisation(name + ".attention.output.LayerNorm", true);
      gelu(dense(name + ".intermediate.dense", t_.hidden, t_.ffn, {}), t_.ffn);
      residual(dense(name + ".output.dense", t_.ffn, t_.hidden, {}));
      normalisation(name + ".output.LayerNorm", true);
    }
    begin("head");
    dense("pooler.dense", t_.hidden, t_.hidden, {.rows = 1}).kept.elements += number(t_.hidden);
    if (t_.mlm) pretraining();
  }

  // The decoder is the embedding, whose gradient ends there.
  void pretraining() {
    gelu(dense("cls.predictions.transform.dense", t_.hidden, t_.hidden, {}), t_.hidden);
    normalisation("cls.predictions.transform.LayerNorm", true);
    ComputationLayer& decoder = dense("cls.predictions.decoder", t_.hidden, t_.vocab, {});
    decoder.model.tensors.erase(decoder.model.tensors.begin());
    loss(decoder);
    dense("cls.seq_relationship", t_.hidden, 2, {.rows = 1});
  }

  void llama() {
    const std::int64_t width = t_.heads * t_.head_size, kv = t_.kv_heads * t_.head_size;
    begin("embeddings");
    embedding("model.embed_tokens", t_.vocab);
    for (std::int64_t i = 0; i < t_.layers; ++i) {
      const std::string name = fmt::format("model.layers.{}", i);
      begin(name, i);
      normalisation(name + ".input_layernorm", false);
      dense(name + ".self_attn.q_proj", t_.hidden, width, {.bias = t_.qkv_bias});
      dense(name + ".self_attn.k_proj", t_.hidden, kv, {.bias = t_.qkv_bias, .input_kept = true});
      dense(name + ".self_attn.v_proj", t_.hidden, kv, {.bias = t_.qkv_bias, .input_kept = true});
      attention(name + ".self_attn", true, true);
      residual(dense(name + ".self_attn.o_proj", width, t_.hidden, {.bias = t_.output_bias, .input_kept = true}));
      normalisation(name + ".post_attention_layernorm", false);
      dense(name + ".mlp.gate_proj", t_.hidden, t_.ffn, {.bias = t_.mlp_bias});
      ComputationLayer& up = dense(name + ".mlp.up_proj", t_.hidden, t_.ffn, {.bias = t_.mlp_bias, .input_kept = true});
      const double inner = number(tokens_ * t_.ffn);
      // silu(gate)·up: forward reads two and writes one; both of them and silu(gate) are kept.
      up.operators.emplace_back(Pass{3 * inner, 5 * inner});
      up.kept.elements += 3 * inner;
      residual(dense(name + ".mlp.down_proj", t_.ffn, t_.hidden, {.bias = t_.mlp_bias}));
    }
    begin("head");
    normalisation("model.norm", false);
    head("lm_head");
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
      dense(name + ".attention.attention.query", t_.hidden, t_.hidden, {.bias = t_.qkv_bias});
      dense(name + ".attention.attention.key", t_.hidden, t_.hidden, {.bias = t_.qkv_bias, .input_kept = true});
      dense(name + ".attention.attention.value", t_.hidden, t_.hidden, {.bias = t_.qkv_bias, .input_kept = true});
      attention(name + ".attention.attention", false, false);
      residual(dense(name + ".attention.output.dense", t_.hidden, t_.hidden, {.input_kept = true}));
      normalisation(name + ".layernorm_after", true);
      gelu(dense(name + ".intermediate.dense", t_.hidden, t_.ffn, {}), t_.ffn);
      residual(dense(name + ".output.dense", t_.ffn, t_.hidden, {}));
    }
    begin("head");
    normalisation("vit.layernorm", true);
    dense("classifier", t_.hidden, t_.classes, {.rows = 1});
  }

  const Transformer& t_;
  std::int64_t tokens_;
  const SourceLocation& place_;
  bool dropout_;
  Computation work_;
  std::string group_;
  std::int64_t block_ = -1;
};

}  // namespace

Computation build(const Transformer& transformer, std::int64_t tokens, const SourceLocation& place) {
  const std::int64_t own = transformer.tokens();
  if (transformer.family == Family::Vit && tokens != own)
    throw InputError(place, fmt::format("{} sees {} patches and a class token", transformer.name, own - 1),
                     "leave --seq out");
  const bool learned = transformer.family == Family::Gpt2 || transformer.family == Family::Bert;
  if (learned && tokens > transformer.positions)
    throw InputError(place,
                     fmt::format("{} tokens, and {} has {} positions", tokens, transformer.name, transformer.positions),
                     fmt::format("at most {}", transformer.positions));
  return Builder(transformer, tokens, place).build();
}

}  // namespace allreplay
