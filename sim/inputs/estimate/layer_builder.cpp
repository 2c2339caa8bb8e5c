#include "sim/inputs/estimate/layer_builder.hpp"

#include <fmt/format.h>

namespace allreplay {

namespace {

void send(ComputationLayer& one, CollectiveOp op, bool backward, double elements, bool of_input = false) {
  one.collectives.push_back({.op = op, .backward = backward, .elements = elements, .of_input = of_input});
}

}  // namespace

LayerBuilder::LayerBuilder(const Transformer& transformer, std::int64_t tokens, const SourceLocation& place,
                           const Split& split)
    : t_(transformer),
      split_(split),
      whole_(tokens),
      tokens_(tokens / split.cp),
      spread_(split.sequence_parallel ? tokens_ / split.tp : tokens_),
      place_(place),
      dropout_(t_.family == Family::Gpt2 || t_.family == Family::Bert || t_.family == Family::Opt) {}

// Converts to an integer. Rejects numbers above `limit`, a model file's: their products would no longer be exact.
std::int64_t LayerBuilder::counted(double value, double limit) const {
  if (value > limit)
    throw InputError(place_, fmt::format("{} has a layer of {:.3g} operations or elements", t_.name, value),
                     fmt::format("at most {:.3g}", limit));
  return static_cast<std::int64_t>(value);
}

void LayerBuilder::begin(const std::string& group, std::int64_t block) {
  if (!work_.layers.empty()) work_.layers.back().handed_on = number(spread_ * t_.hidden);
  group_ = group;
  block_ = block;
}

ComputationLayer& LayerBuilder::layer(const std::string& name, double macs, std::int64_t outputs) {
  ComputationLayer layer;
  layer.model.name = name;
  layer.model.forward_macs = counted(macs, 0x1p53);
  layer.model.activation_bytes = counted(4 * number(outputs), 0x1p53);
  layer.group = group_;
  layer.block = block_;
  work_.layers.push_back(std::move(layer));
  return work_.layers.back();
}

void LayerBuilder::tensor(ComputationLayer& layer, const std::string& name, std::vector<std::int64_t> shape) const {
  double product = 1;
  for (const std::int64_t extent : shape) product *= number(extent);
  const std::int64_t elements = counted(product, 1e12);
  layer.model.tensors.push_back({name, std::move(shape), elements});
}

void LayerBuilder::embedding(const std::string& name, std::int64_t rows, bool words) {
  const std::int64_t own = words ? part_of_vocabulary(rows) : rows;
  const std::int64_t tokens = words ? tokens_ : spread_, outputs = tokens * t_.hidden;
  ComputationLayer& one = layer(name, 0, outputs);
  tensor(one, name + ".weight", {own, t_.hidden});
  one.operators.emplace_back(Pass{2 * number(outputs), number(outputs), number(own * t_.hidden), 0, true});
  one.kept.bytes = one.kept_selective.bytes = 8 * number(tokens);  // the indices
  if (words) sum_up(one, number(tokens_ * t_.hidden));
}

std::int64_t LayerBuilder::part_of_vocabulary(std::int64_t rows) const { return (rows + split_.tp - 1) / split_.tp; }

void LayerBuilder::sum_up(ComputationLayer& one, double elements) const {
  if (split_.tp == 1) return;
  if (!split_.sequence_parallel) return send(one, CollectiveOp::AllReduce, false, elements);
  send(one, CollectiveOp::ReduceScatter, false, elements);
  send(one, CollectiveOp::AllGather, true, elements);
}

void LayerBuilder::share_input(ComputationLayer& one, double elements) const {
  if (split_.tp == 1) return;
  if (!split_.sequence_parallel) return send(one, CollectiveOp::AllReduce, true, elements);
  send(one, CollectiveOp::AllGather, false, elements, true);
  send(one, CollectiveOp::ReduceScatter, true, elements);
}

void LayerBuilder::normalisation(const std::string& name, bool bias) {
  const std::int64_t outputs = spread_ * t_.hidden;
  ComputationLayer& one = layer(name, 2 * number(outputs), outputs);
  tensor(one, name + ".weight", {t_.hidden});
  if (bias) tensor(one, name + ".bias", {t_.hidden});
  one.operators.emplace_back(Pass{2 * number(outputs), 3 * number(outputs)});
  one.kept = {number(outputs), (bias ? 8 : 4) * number(spread_)};
  if (block_ < 0) one.kept_selective = one.kept;
}

void LayerBuilder::rms_norm(const std::string& name, std::int64_t width, std::int64_t parts, std::int64_t tokens) {
  const std::int64_t outputs = tokens * parts * width;
  ComputationLayer& one = layer(name, 2 * number(outputs), outputs);
  tensor(one, name + ".weight", {width});
  one.operators.emplace_back(Pass{2 * number(outputs), 3 * number(outputs)});
  one.kept = {number(outputs), 4 * number(tokens * parts)};
}

ComputationLayer& LayerBuilder::dense(const std::string& name, std::int64_t whole_inputs, std::int64_t whole_outputs,
                                      Dense how) {
  const std::int64_t inputs = how.cut == Cut::Inputs ? whole_inputs / split_.tp : whole_inputs;
  const std::int64_t outputs = how.cut == Cut::Outputs ? part_of_vocabulary(whole_outputs) : whole_outputs;
  const std::int64_t rows = how.rows > 0 ? how.rows : how.cut == Cut::None ? spread_ : tokens_;
  const std::int64_t read = how.cut == Cut::Outputs ? spread_ : rows;  // rows of the input that this worker holds
  const std::int64_t given = how.cut == Cut::Inputs ? spread_ : rows;  // and of the output
  ComputationLayer& one = layer(name, number(rows) * number(inputs) * number(outputs), given * outputs);
  tensor(one, name + ".weight",
         how.transposed ? std::vector<std::int64_t>{inputs, outputs} : std::vector<std::int64_t>{outputs, inputs});
  if (how.bias) tensor(one, name + ".bias", {outputs});
  one.operators.emplace_back(Product{rows, inputs, outputs, number(rows * inputs), !how.first});
  // The bias's gradient is a sum.
  if (how.bias) one.operators.emplace_back(Pass{0, number(given * outputs), 0, 0, true});
  if (!how.input_kept) one.kept.elements = one.kept_input = number(read * inputs);
  if (block_ >= 0)
    one.kept_selective.elements = number(given * outputs);
  else
    one.kept_selective = one.kept;
  if (how.cut == Cut::Inputs) sum_up(one, number(tokens_ * outputs));
  if (how.cut == Cut::Outputs && !how.input_kept) share_input(one, number(tokens_ * inputs));
  return one;
}

void LayerBuilder::projections(const std::string& prefix, const std::array<const char*, 3>& names, std::int64_t queries,
                               std::int64_t keys, bool bias) {
  for (std::size_t i = 0; i < names.size(); ++i)
    dense(prefix + names[i], t_.hidden, i == 0 ? queries : keys,
          {.cut = Cut::Outputs, .bias = bias, .input_kept = i > 0});
}

ComputationLayer& LayerBuilder::attention(const std::string& name, bool causal, bool rotary) {
  const std::int64_t heads = t_.heads / split_.tp, kv_heads = t_.kv_heads / split_.tp;
  const std::int64_t queries = heads * t_.head_size, keys = kv_heads * t_.head_size;
  const std::int64_t values = kv_heads * t_.value_size, outputs = heads * t_.value_size;
  // MACs as in models/: all pairs of tokens, also those that a causal mask leaves out.
  ComputationLayer& one = layer(name, number(tokens_) * number(whole_) * number(queries + outputs), tokens_ * outputs);
  if (rotary)
    one.operators.emplace_back(Pass{2 * number(tokens_ * (queries + keys)), 2 * number(tokens_ * (queries + keys))});
  one.operators.emplace_back(Attention{whole_, heads, kv_heads, t_.head_size, causal, split_.cp, t_.value_size});
  const double sums = 4 * number(tokens_ * heads);  // the softmax's sums, in fp32
  one.kept = {number(tokens_ * (queries + keys + values + outputs)), sums};
  one.kept_selective = {number(tokens_ * outputs), sums};
  if (split_.cp == 1) return one;
  // Gathers all keys and values in each pass; their gradients are summed at their owners.
  for (const auto& [op, backward] : {std::pair(CollectiveOp::AllGather, false),
                                     {CollectiveOp::AllGather, true},
                                     {CollectiveOp::ReduceScatter, true}})
    one.collectives.push_back({op, LayerCollective::Among::Context, backward, number(whole_ * (keys + values))});
  return one;
}

ComputationLayer& LayerBuilder::gated_mlp(const std::string& name, std::int64_t ffn, bool input_kept) {
  if (t_.fused && !input_kept) {
    gate(dense(name + ".gate_up_proj", t_.hidden, 2 * ffn, {.cut = Cut::Outputs, .bias = t_.mlp_bias}),
         number(tokens_ * ffn / split_.tp));
    ComputationLayer& last = dense(name + ".down_proj", ffn, t_.hidden, {.cut = Cut::Inputs, .bias = t_.mlp_bias});
    residual(last);
    return last;
  }
  ComputationLayer& gate_proj =
      dense(name + ".gate_proj", t_.hidden, ffn, {.cut = Cut::Outputs, .bias = t_.mlp_bias, .input_kept = input_kept});
  if (input_kept) share_input(gate_proj, number(tokens_ * t_.hidden));
  gate(dense(name + ".up_proj", t_.hidden, ffn, {.cut = Cut::Outputs, .bias = t_.mlp_bias, .input_kept = true}),
       number(tokens_ * ffn / split_.tp));
  ComputationLayer& down = dense(name + ".down_proj", ffn, t_.hidden, {.cut = Cut::Inputs, .bias = t_.mlp_bias});
  residual(down);
  return down;
}

void LayerBuilder::gate(ComputationLayer& one, double inner) {
  one.operators.emplace_back(Pass{3 * inner, 5 * inner});
  one.kept.elements += 3 * inner;
}

void LayerBuilder::residual(ComputationLayer& one) const {
  const double outputs = number(spread_ * t_.hidden);
  one.operators.emplace_back(Pass{3 * outputs, 3 * outputs});
  if (!dropout_) return;
  one.operators.emplace_back(Pass{2 * outputs, 2 * outputs});
  one.kept.bytes += outputs;  // a mask of a byte each
  one.kept_selective.bytes += outputs;
}

void LayerBuilder::gelu(ComputationLayer& one, std::int64_t tokens, std::int64_t width) const {
  const double outputs = number(tokens * width);
  one.operators.emplace_back(Pass{2 * outputs, 3 * outputs});
  one.kept.elements += outputs;
}

// The logarithms of the logits are kept in fp32. If a tensor group splits the vocabulary, it exchanges for each token,
// in fp32, the largest logit, that of the right word, and the sum.
void LayerBuilder::loss(ComputationLayer& one) const {
  const double logits = number(tokens_ * part_of_vocabulary(t_.vocab));
  one.operators.emplace_back(Pass{4 * logits, 4 * logits});
  one.kept.bytes += 4 * logits;
  one.kept_selective.bytes += 4 * logits;
  for (int i = 0; i < 3 && split_.tp > 1; ++i)
    one.collectives.push_back({.op = CollectiveOp::AllReduce, .bytes = 4 * number(tokens_)});
}

void LayerBuilder::head(const std::string& name) {
  ComputationLayer& one = dense(name, t_.hidden, t_.vocab, {.cut = Cut::Outputs, .bias = false});
  if (t_.tied) one.model.tensors.clear();
  loss(one);
}

}  // namespace allreplay
