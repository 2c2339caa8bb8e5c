// Converts models of models/ to work. The kind of a layer follows from its tensors.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/inputs/estimate/computation.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t head_size = 64;  // of all attention layers in models/

enum class Kind { Plain, Normalisation, Embedding, Weighted };

Kind kind_of(const ModelLayer& layer) {
  if (layer.tensors.empty()) return Kind::Plain;
  for (const ModelTensor& tensor : layer.tensors)
    if (tensor.shape.size() > 1) return *layer.forward_macs > 0 ? Kind::Weighted : Kind::Embedding;
  return Kind::Normalisation;
}

double outputs_of(const ModelLayer& layer) { return static_cast<double>(*layer.activation_bytes) / fp32_bytes; }

double weights_of(const ModelLayer& layer) {
  double sum = 0;
  for (const ModelTensor& tensor : layer.tensors) sum += static_cast<double>(tensor.elements);
  return sum;
}

bool is_depthwise(const ModelLayer& layer, bool first) {
  const auto& shape = layer.tensors[0].shape;
  return !first && shape.size() == 4 && shape[1] == 1 && shape[0] > 1;
}

// A convolution or dense layer as one product, with the weights of all its matrices.
Product product_of(const ModelLayer& layer, bool first) {
  std::int64_t weights = 0, outputs = 0, area = 1;
  for (const ModelTensor& tensor : layer.tensors)
    if (tensor.shape.size() > 1) {
      if (weights == 0) {
        outputs = tensor.shape[0];
        for (std::size_t i = 2; i < tensor.shape.size(); ++i) area *= tensor.shape[i];
      }
      weights += tensor.elements;
    }
  Product product;
  product.outputs = outputs;
  product.inputs = std::max<std::int64_t>(1, weights / outputs);
  const auto macs = static_cast<double>(*layer.forward_macs);
  product.rows = std::max<std::int64_t>(1, std::llround(macs / static_cast<double>(weights)));
  product.input_elements = macs / static_cast<double>(outputs * area);
  product.input_gradient = !first;
  return product;
}

// The operator of a layer without tensors. Attention, recognised by its MACs, does two products of all pairs of tokens,
// 2·tokens² per channel; a projection whose tensor is in another layer is a product; all others pass over their output.
Operator plain_of(const ModelLayer& layer, std::int64_t tokens) {
  const double outputs = outputs_of(layer), macs = static_cast<double>(*layer.forward_macs);
  if (tokens > 0 && macs > 0 && macs == 2.0 * static_cast<double>(tokens) * outputs) {
    const auto width = static_cast<std::int64_t>(outputs) / tokens;
    const std::int64_t heads = std::max<std::int64_t>(1, width / head_size);
    return Attention{tokens, heads, heads, width / heads, false};
  }
  if (tokens > 0 && macs > 0) {
    Product product{tokens, std::llround(macs / outputs), std::llround(outputs / static_cast<double>(tokens))};
    product.input_elements = static_cast<double>(product.rows * product.inputs);
    return product;
  }
  return Pass{2 * outputs, 4 * outputs, 0, macs};
}

void describe(ComputationLayer& layer, std::int64_t tokens, bool first, bool elementwise) {
  const ModelLayer& model = layer.model;
  const double outputs = outputs_of(model);
  const double weights = weights_of(model);
  switch (kind_of(model)) {
    case Kind::Weighted:
      if (is_depthwise(model, first)) {
        layer.operators.emplace_back(Pass{2 * outputs, 4 * outputs, 0, static_cast<double>(*model.forward_macs)});
        layer.kept.elements = outputs;
      } else {
        const Product product = product_of(model, first);
        layer.kept.elements = product.input_elements;
        layer.operators.emplace_back(product);
      }
      break;
    case Kind::Embedding:
      layer.operators.emplace_back(Pass{2 * outputs, outputs, weights});
      layer.kept.bytes = 8 * static_cast<double>(tokens);
      break;
    case Kind::Normalisation:  // one more pass reads the statistics of the batch
      layer.operators.emplace_back(Pass{3 * outputs, 5 * outputs});
      layer.kept.elements = outputs;
      break;
    case Kind::Plain:
      layer.operators.push_back(plain_of(model, tokens));
      layer.kept.elements = outputs * (std::holds_alternative<Attention>(layer.operators.back()) ? 4 : 1);
  }
  if (elementwise) layer.operators.emplace_back(Pass{2 * outputs, 3 * outputs});
}

// Input, weights and output are moved once for each product of a convolution or dense layer. The input's size is exact
// at stride 1; for a merged tensor [outputs, columns] it is what im2col would write.
std::vector<Operator> plain_kernels(const ModelLayer& layer, bool first) {
  const double outputs = outputs_of(layer), macs = static_cast<double>(*layer.forward_macs);
  const double weights = weights_of(layer);
  switch (kind_of(layer)) {
    case Kind::Weighted: {
      const auto matrix = std::find_if(layer.tensors.begin(), layer.tensors.end(),
                                       [](const ModelTensor& tensor) { return tensor.shape.size() > 1; });
      std::int64_t reads = matrix->shape[0];
      for (std::size_t i = 2; i < matrix->shape.size(); ++i) reads *= matrix->shape[i];
      const double moved = outputs + static_cast<double>(*layer.forward_macs / reads);
      return {PlainKernel{false, macs, moved, weights}, PlainKernel{true, macs, moved, weights, first ? 1 : 2}};
    }
    case Kind::Embedding:
      return {PlainKernel{false, 0, 2 * outputs}, PlainKernel{true, 0, outputs, weights}};
    case Kind::Normalisation:
      return {PlainKernel{false, macs, 3 * outputs}, PlainKernel{true, macs, 5 * outputs}};
    case Kind::Plain:
      break;
  }
  return {PlainKernel{false, macs, 2 * outputs}, PlainKernel{true, macs, 2 * outputs, 0, 2}};
}

// Scales the counts of a layer to samples of another length.
void stretch(ModelLayer& layer, std::int64_t from, std::int64_t to) {
  const double factor = static_cast<double>(to) / static_cast<double>(from);
  const double macs = static_cast<double>(*layer.forward_macs), outputs = outputs_of(layer);
  const bool one_token = layer.tensors.size() > 0 && !layer.tensors[0].shape.empty() &&
                         outputs <= static_cast<double>(layer.tensors[0].shape[0]);  // a pooler
  if (one_token) return;
  const bool attention = layer.tensors.empty() && macs > 0 && macs == 2.0 * static_cast<double>(from) * outputs;
  layer.forward_macs = std::llround(macs * factor * (attention ? factor : 1));
  layer.activation_bytes = std::llround(static_cast<double>(*layer.activation_bytes) * factor);
}

}  // namespace

Computation plain_computation(const Model& model, const SourceLocation& place) {
  Computation work = from_model(model, place);
  bool first = true;
  for (std::size_t i = 0; i < work.layers.size(); ++i) {
    ComputationLayer& layer = work.layers[i];
    layer.operators = plain_kernels(layer.model, first && !layer.model.tensors.empty());
    if (!layer.model.tensors.empty()) first = false;
    if (i + 1 == work.layers.size() || kind_of(work.layers[i + 1].model) == Kind::Normalisation) continue;
    const double outputs = outputs_of(layer.model);  // an activation, dropout or addition
    layer.operators.emplace_back(PlainKernel{false, 0, 2 * outputs});
    layer.operators.emplace_back(PlainKernel{true, 0, 3 * outputs});
  }
  return work;
}

Computation from_model(const Model& model, const SourceLocation& place, std::int64_t tokens) {
  Computation work;
  work.name = model.name;
  work.description = model.description;
  work.source = model.source;
  const std::int64_t own = tokens_of(model.input);
  work.tokens = own;
  if (tokens > 0 && own == 0)
    throw InputError(place,
                     fmt::format("{} has samples of {}, not of tokens", model.name,
                                 model.input.empty() ? "an unknown shape" : model.input),
                     "leave --seq out");
  if (tokens > 0) work.tokens = tokens;
  work.input = work.tokens > 0 ? fmt::format("{} tokens", work.tokens) : model.input;
  work.optimizer = work.tokens > 0 ? Optimizer::Adam : Optimizer::Sgd;
  bool first = true;
  std::vector<ModelLayer> layers = model.layers;
  for (ModelLayer& layer : layers) {
    if (!layer.forward_macs || !layer.activation_bytes)
      throw InputError(place, fmt::format("the layer '{}' of {} lacks MACs or activations", layer.name, model.name),
                       "forward_macs and activation_bytes in each layer of the model");
    if (work.tokens != own) stretch(layer, own, work.tokens);
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    ComputationLayer layer{
        .model = layers[i], .group = "", .block = -1, .operators = {}, .kept = {}, .kept_selective = {}};
    const bool elementwise = i + 1 < layers.size() && kind_of(layers[i + 1]) != Kind::Normalisation;
    describe(layer, work.tokens, first && !layer.model.tensors.empty(), elementwise);
    if (!layer.model.tensors.empty()) first = false;
    work.model_flops += 6 * static_cast<double>(*layers[i].forward_macs);
    work.layers.push_back(std::move(layer));
  }
  return work;
}

}  // namespace allreplay
