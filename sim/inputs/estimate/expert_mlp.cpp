// The MLP of a block that is a mixture of experts.
#include <cmath>

#include <fmt/format.h>

#include "sim/inputs/estimate/layer_builder.hpp"

namespace allreplay {

namespace {

// The rows of one sample: 1/b of those of a mini-batch of b samples, which are rounded up together.
struct Rows {
  double tokens = 0;    // n
  double sent = 0;      // m: copies of tokens that the worker sends to experts, and gets from others to compute
  double computed = 0;  // with sequence parallelism, those of all workers of its tensor group
};

Rows rows_of(const LayerBuilder& builder) {
  const Split& split = builder.split();
  const double batch = LayerBuilder::number(split.batch), tokens = batch * LayerBuilder::number(builder.spread());
  const double sent = std::ceil(split.imbalance * tokens * LayerBuilder::number(builder.model().experts.top_k));
  return {tokens / batch, sent / batch, (split.sequence_parallel ? LayerBuilder::number(split.tp) : 1) * sent / batch};
}

// The exchange of tokens in the group of experts: dispatch and combine, and the gradients of both.
void exchange(const LayerBuilder& builder, ComputationLayer& one, const Rows& rows, bool backward) {
  if (builder.split().ep == 1) return;
  one.collectives.push_back({.op = CollectiveOp::AllToAll,
                             .group = LayerCollective::Among::Expert,
                             .backward = backward,
                             .elements = rows.sent * LayerBuilder::number(builder.model().hidden)});
}

void pass(ComputationLayer& one, double elements) { one.operators.emplace_back(Pass{elements, elements}); }

void add_shared_experts(LayerBuilder& builder, const std::string& name) {
  const Transformer& t = builder.model();
  if (t.experts.shared_ffn == 0) return;
  builder.gated_mlp(name + ".shared_experts", t.experts.shared_ffn, true);
  if (!t.experts.shared_gate) return;
  ComputationLayer& gate =
      builder.dense(name + ".shared_expert_gate", t.hidden, 1, {.bias = false, .input_kept = true});
  const double outputs = LayerBuilder::number(builder.spread() * t.hidden);  // sigmoid(gate)·output
  gate.operators.emplace_back(Pass{2 * outputs, 3 * outputs});
  gate.kept.elements += outputs;
}

void add_router(LayerBuilder& builder, const std::string& name, const Rows& rows) {
  const Transformer& t = builder.model();
  const double scores = rows.tokens * LayerBuilder::number(t.experts.count), width = LayerBuilder::number(t.hidden);
  ComputationLayer& one = builder.dense(name + ".router", t.hidden, t.experts.count, {.bias = t.experts.router_bias});
  std::get<Product>(one.operators.front()).never_narrow = true;
  one.kept.elements += scores;
  pass(one, scores);  // softmax and selection
  pass(one, rows.tokens * width + rows.tokens * LayerBuilder::number(t.experts.top_k) * width);  // permute
  exchange(builder, one, rows, false);
}

// The experts of this worker are one grouped product for each of gate, up and down, and as many matrices, one expert's
// rows after another's, as in Megatron-Core's GroupedMLP.
void add_experts(LayerBuilder& builder, const std::string& name, const Rows& rows) {
  const Transformer& t = builder.model();
  const Split& split = builder.split();
  const std::int64_t own = t.experts.count / split.ep, ffn = t.experts.ffn / split.tp;
  const double width = LayerBuilder::number(t.hidden), inner = rows.computed * LayerBuilder::number(ffn);
  ComputationLayer& one = builder.layer(name + ".experts", 3 * inner * width, std::llround(rows.sent * width));
  one.expert = true;
  const auto product = [&](const char* part, std::int64_t inputs, std::int64_t outputs) {
    builder.tensor(one, fmt::format("{}.experts.{}.weight", name, part), {own * outputs, inputs});
    one.operators.emplace_back(GroupedProduct{rows.computed, inputs, outputs, own});
    if (!t.experts.bias) return;
    builder.tensor(one, fmt::format("{}.experts.{}.bias", name, part), {own * outputs});
    one.operators.emplace_back(Pass{0, rows.computed * LayerBuilder::number(outputs), 0, 0, true});
  };
  product("gate_proj", t.hidden, ffn);
  product("up_proj", t.hidden, ffn);
  LayerBuilder::gate(one, inner);
  product("down_proj", ffn, t.hidden);
  one.kept.elements += 2 * rows.sent * width;  // permuted input; output, for the gradient of its weight
  one.kept_selective.elements = 2 * rows.sent * width + 2 * inner;
  builder.share_input(one, rows.computed * width);
  builder.sum_up(one, rows.computed * width);
  exchange(builder, one, rows, false);
  exchange(builder, one, rows, true);
}

void add_combine(LayerBuilder& builder, const std::string& name, const Rows& rows) {
  const std::int64_t outputs = builder.spread() * builder.model().hidden;
  ComputationLayer& one = builder.layer(name + ".combine", 0, outputs);
  pass(one, rows.sent * LayerBuilder::number(builder.model().hidden) + LayerBuilder::number(outputs));
  builder.residual(one);
  exchange(builder, one, rows, true);
}

}  // namespace

void add_expert_mlp(LayerBuilder& builder, const std::string& name) {
  const Rows rows = rows_of(builder);
  add_shared_experts(builder, name);
  add_router(builder, name, rows);
  add_experts(builder, name, rows);
  add_combine(builder, name, rows);
}

std::int64_t active_parameters(const Transformer& transformer, const Computation& work) {
  std::int64_t sum = work.parameters();
  for (const ComputationLayer& layer : work.layers)
    for (const ModelTensor& tensor : layer.model.tensors)
      if (layer.expert)
        sum -= tensor.elements / transformer.experts.count * (transformer.experts.count - transformer.experts.top_k);
  return sum;
}

}  // namespace allreplay
