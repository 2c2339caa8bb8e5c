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
  Builder(const Transformer& transformer, std::int64_t tokens, const SourceLocation& place, const Split& split)
      : t_(transformer),
        split_(split),
        whole_(tokens),
        tokens_(tokens / split.cp),
        spread_(split.sequence_parallel ? tokens_ / split.tp : tokens_),
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
    work_.tokens = whole_;
    work_.tp = split_.tp;
    work_.cp = split_.cp;
    work_.input = t_.family == Family::Vit ? fmt::format("{}x{}x{}", t_.channels, t_.image, t_.image)
                                           : fmt::format("{} tokens", whole_);
    work_.block_input = number(spread_ * t_.hidden);
    // 6 FLOPs per parameter and token, and 12·layers·hidden·sequence for attention's pairs.
    work_.model_flops =
        number(whole_) * (6 * number(work_.parameters()) + 12 * number(t_.layers) * number(t_.hidden) * number(whole_));
    return std::move(work_);
  }

 private:
  // Converts to an integer. Rejects numbers above `limit`, a model file's: their products would no longer be exact.
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

  // Each worker of a tensor group has some rows of the word embedding and looks up all tokens, with 0 for rows that it
  // does not have; it has all rows of other embeddings.
  void embedding(const std::string& name, std::int64_t rows, bool words = false) {
    const std::int64_t own = words ? part_of_vocabulary(rows) : rows;
    const std::int64_t tokens = words ? tokens_ : spread_, outputs = tokens * t_.hidden;
    ComputationLayer& one = layer(name, 0, outputs);
    tensor(one, name + ".weight", {own, t_.hidden});
    one.operators.emplace_back(Pass{2 * number(outputs), number(outputs), number(own * t_.hidden), 0, true});
    one.kept.bytes = one.kept_selective.bytes = 8 * number(tokens);  // the indices
    if (words) sum_up(one, t_.hidden);
  }

  std::int64_t part_of_vocabulary(std::int64_t rows) const { return (rows + split_.tp - 1) / split_.tp; }

  void send(ComputationLayer& one, CollectiveOp op, bool backward, std::int64_t width, bool of_input = false) const {
    one.collectives.push_back(
        {.op = op, .backward = backward, .elements = number(tokens_ * width), .of_input = of_input});
  }

  // Sums the partial outputs of a tensor group. With sequence parallelism each worker gets only its own tokens.
  void sum_up(ComputationLayer& one, std::int64_t width) const {
    if (split_.tp == 1) return;
    if (!split_.sequence_parallel) return send(one, CollectiveOp::AllReduce, false, width);
    send(one, CollectiveOp::ReduceScatter, false, width);
    send(one, CollectiveOp::AllGather, true, width);
  }

  // Gives all workers of a tensor group the same input; the gradients of the input are summed.
  void share_input(ComputationLayer& one, std::int64_t width) const {
    if (split_.tp == 1) return;
    if (!split_.sequence_parallel) return send(one, CollectiveOp::AllReduce, true, width);
    send(one, CollectiveOp::AllGather, false, width, true);
    send(one, CollectiveOp::ReduceScatter, true, width);
  }

  // LayerNorm (with bias) keeps mean and deviation of each token, RMSNorm (without) one number.
  void normalisation(const std::string& name, bool bias) {
    const std::int64_t outputs = spread_ * t_.hidden;
    ComputationLayer& one = layer(name, 2 * number(outputs), outputs);
    tensor(one, name + ".weight", {t_.hidden});
    if (bias) tensor(one, name + ".bias", {t_.hidden});
    one.operators.emplace_back(Pass{2 * number(outputs), 3 * number(outputs)});
    one.kept = {number(outputs), (bias ? 8 : 4) * number(spread_)};
    if (block_ < 0) one.kept_selective = one.kept;
  }

  // The side of a product that a tensor group splits: its outputs, its inputs (which are already split), or neither.
  enum class Cut : std::uint8_t { None, Outputs, Inputs };
  struct Dense {
    Cut cut = Cut::None;
    bool bias = true;
    bool transposed = false;  // GPT-2 stores [inputs, outputs]
    bool input_kept = false;  // by an earlier layer: only one of several readers keeps the input
    std::int64_t rows = 0;    // 0: one for each token
    bool first = false;
  };
  ComputationLayer& dense(const std::string& name, std::int64_t whole_inputs, std::int64_t whole_outputs, Dense how) {
    const std::int64_t inputs = how.cut == Cut::Inputs ? whole_inputs / split_.tp : whole_inputs;
    const std::int64_t outputs = how.cut == Cut::Outputs ? part_of_vocabulary(whole_outputs) : whole_outputs;
    const std::int64_t rows = how.rows > 0 ? how.rows : how.cut == Cut::None ? spread_ : tokens_;
    const std::int64_t read = how.cut == Cut::Outputs ? spread_ : rows;  // rows of the input that this worker holds
    const std::int64_t given = how.cut == Cut::Inputs ? spread_ : rows;  // and of the output
    ComputationLayer& one = layer(name, number(rows) * number(inputs) * number(outputs), given * outputs);
    tensor(one, name + ".weight", how.transposed ? Shape{inputs, outputs} : Shape{outputs, inputs});
    if (how.bias) tensor(one, name + ".bias", {outputs});
    one.operators.emplace_back(Product{rows, inputs, outputs, number(rows * inputs), !how.first});
    // The bias's gradient is a sum.
    if (how.bias) one.operators.emplace_back(Pass{0, number(given * outputs), 0, 0, true});
    if (!how.input_kept) one.kept.elements = number(read * inputs);
    if (block_ >= 0)
      one.kept_selective.elements = number(given * outputs);
    else
      one.kept_selective = one.kept;
    if (how.cut == Cut::Inputs) sum_up(one, outputs);
    if (how.cut == Cut::Outputs && !how.input_kept) share_input(one, inputs);
    return one;
  }

  void attention(const std::string& name, bool causal, bool rotary) {
    const std::int64_t heads = t_.heads / split_.tp, kv_heads = t_.kv_heads / split_.tp;
    const std::int64_t width = heads * t_.head_size, kv = kv_heads * t_.head_size;
    // MACs as in models/: all pairs of tokens, also those that a causal mask leaves out.
    ComputationLayer& one = layer(name, 2 * number(tokens_) * number(whole_) * number(width), tokens_ * width);
    if (rotary)
      one.operators.emplace_back(Pass{2 * number(tokens_ * (width + kv)), 2 * number(tokens_ * (width + kv))});
    one.operators.emplace_back(Attention{whole_, heads, kv_heads, t_.head_size, causal, split_.cp});
    const double sums = 4 * number(tokens_ * heads);  // the softmax's sums, in fp32
    one.kept = {number(tokens_ * (2 * width + 2 * kv)), sums};
    one.kept_selective = {number(tokens_ * width), sums};
    if (split_.cp == 1) return;
    // Gathers all keys and values in each pass; their gradients are summed at their owners.
    for (const auto& [op, backward] : {std::pair(CollectiveOp::AllGather, false),
                                       {CollectiveOp::AllGather, true},
                                       {CollectiveOp::ReduceScatter, true}})
      one.collectives.push_back({op, LayerCollective::Among::Context, backward, 2 * number(whole_ * kv)});
  }

  // Ends a branch: dropout, if the family has it, and the addition to the residual.
  void residual(ComputationLayer& one) const {
    const double outputs = number(spread_ * t_.hidden);
    one.operators.emplace_back(Pass{3 * outputs, 3 * outputs});
    if (!dropout_) return;
    one.operators.emplace_back(Pass{2 * outputs, 2 * outputs});
    one.kept.bytes += outputs;  // a mask of a byte each
    one.kept_selective.bytes += outputs;
  }

  // Adds a GELU, which keeps its input.
  void gelu(ComputationLayer& one, std::int64_t tokens, std::int64_t width) const {
    const double outputs = number(tokens * width);
    one.operators.emplace_back(Pass{2 * outputs, 3 * outputs});
    one.kept.elements += outputs;
  }

  // Adds the cross-entropy of each token's logits, whose logarithms are kept in fp32. If a tensor group splits the
  // vocabulary, it exchanges for each token, in fp32, the largest logit, that of the right word, and the sum.
  void loss(ComputationLayer& one) const {
    const double logits = number(tokens_ * part_of_vocabulary(t_.vocab));
    one.operators.emplace_back(Pass{4 * logits, 4 * logits});
    one.kept.bytes += 4 * logits;
    one.kept_selective.bytes += 4 * logits;
    for (int i = 0; i < 3 && split_.tp > 1; ++i)
      one.collectives.push_back({.op = CollectiveOp::AllReduce, .bytes = 4 * number(tokens_)});
  }

  void begin(const std::string& group, std::int64_t block = -1) {
    if (!work_.layers.empty()) work_.layers.back().handed_on = number(spread_ * t_.hidden);
    group_ = group;
    block_ = block;
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

  // The output projection. If tied, it uses the embedding's tensor, and has none of its own.
  void head(const std::string& name) {
    ComputationLayer& one = dense(name, t_.hidden, t_.vocab, {.cut = Cut::Outputs, .bias = false});
    if (t_.tied) one.model.tensors.clear();
    loss(one);
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
      dense(name + ".attention.self.query", t_.hidden, t_.hidden, {.cut = Cut::Outputs});
      dense(name + ".attention.self.key", t_.hidden, t_.hidden, {.cut = Cut::Outputs, .input_kept = true});
      dense(name + ".attention.self.value", t_.hidden, t_.hidden, {.cut = Cut::Outputs, .input_kept = true});
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
    const std::int64_t width = t_.heads * t_.head_size, kv = t_.kv_heads * t_.head_size;
    begin("embeddings");
    embedding("model.embed_tokens", t_.vocab, true);
    for (std::int64_t i = 0; i < t_.layers; ++i) {
      const std::string name = fmt::format("model.layers.{}", i);
      begin(name, i);
      normalisation(name + ".input_layernorm", false);
      dense(name + ".self_attn.q_proj", t_.hidden, width, {.cut = Cut::Outputs, .bias = t_.qkv_bias});
      dense(name + ".self_attn.k_proj", t_.hidden, kv, {.cut = Cut::Outputs, .bias = t_.qkv_bias, .input_kept = true});
      dense(name + ".self_attn.v_proj", t_.hidden, kv, {.cut = Cut::Outputs, .bias = t_.qkv_bias, .input_kept = true});
      attention(name + ".self_attn", true, true);
      residual(dense(name + ".self_attn.o_proj", width, t_.hidden,
                     {.cut = Cut::Inputs, .bias = t_.output_bias, .input_kept = true}));
      normalisation(name + ".post_attention_layernorm", false);
      dense(name + ".mlp.gate_proj", t_.hidden, t_.ffn, {.cut = Cut::Outputs, .bias = t_.mlp_bias});
      ComputationLayer& up = dense(name + ".mlp.up_proj", t_.hidden, t_.ffn,
                                   {.cut = Cut::Outputs, .bias = t_.mlp_bias, .input_kept = true});
      const double inner = number(tokens_ * t_.ffn / split_.tp);
      // silu(gate)·up: forward reads two tensors and writes one; both of them and silu(gate) are kept.
      up.operators.emplace_back(Pass{3 * inner, 5 * inner});
      up.kept.elements += 3 * inner;
      residual(dense(name + ".mlp.down_proj", t_.ffn, t_.hidden, {.cut = Cut::Inputs, .bias = t_.mlp_bias}));
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
      dense(name + ".attention.attention.query", t_.hidden, t_.hidden, {.cut = Cut::Outputs, .bias = t_.qkv_bias});
      dense(name + ".attention.attention.key", t_.hidden, t_.hidden,
            {.cut = Cut::Outputs, .bias = t_.qkv_bias, .input_kept = true});
      dense(name + ".attention.attention.value", t_.hidden, t_.hidden,
            {.cut = Cut::Outputs, .bias = t_.qkv_bias, .input_kept = true});
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

  const Transformer& t_;
  const Split& split_;
  std::int64_t whole_;   // tokens of a sample
  std::int64_t tokens_;  // of these, the tokens of a context group's worker
  std::int64_t spread_;  // of those, the tokens that it has between products
  const SourceLocation& place_;
  bool dropout_;
  Computation work_;
  std::string group_;
  std::int64_t block_ = -1;
};

void require_divides(const Transformer& t, std::int64_t tokens, const Split& split) {
  const auto require = [&](const char* option, std::int64_t degree, std::int64_t count, const std::string& what) {
    if (count % degree != 0)
      throw InputError({"command line", option}, fmt::format("{} does not divide {} {}", degree, count, what),
                       fmt::format("a divisor of {}", count));
  };
  require("--tp", split.tp, t.heads, fmt::format("attention heads of {}", t.name));
  require("--tp", split.tp, t.kv_heads, fmt::format("heads of keys and values of {}", t.name));
  require("--tp", split.tp, t.ffn, fmt::format("inner outputs of {}", t.name));
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
  const bool learned = transformer.family == Family::Gpt2 || transformer.family == Family::Bert;
  if (learned && tokens > transformer.positions)
    throw InputError(place,
                     fmt::format("{} tokens, but {} has {} positions", tokens, transformer.name, transformer.positions),
                     fmt::format("at most {}", transformer.positions));
  require_divides(transformer, tokens, split);
  Computation work = Builder(transformer, tokens, place, split).build();
  if (split.tp > 1) work.model_flops = Builder(transformer, tokens, place, {}).build().model_flops;
  return work;
}

}  // namespace allreplay
