#include "sim/inputs/estimate/freezing.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

const Product* product_of(const ComputationLayer& layer) {
  for (const Operator& one : layer.operators)
    if (const auto* product = std::get_if<Product>(&one)) return product;
  return nullptr;
}

bool computes_attention(const ComputationLayer& layer) {
  return std::any_of(layer.operators.begin(), layer.operators.end(),
                     [](const Operator& one) { return std::holds_alternative<Attention>(one); });
}

// The FLOPs of one sample that count in model_flops: 2 per MAC of a product or of attention forward, 4 backward, of
// which products need half for the gradients of weights and half for those of their input.
double flops(const ComputationLayer& layer) {
  double macs = 0;
  for (const Operator& one : layer.operators) {
    if (const auto* product = std::get_if<Product>(&one))
      macs += static_cast<double>(product->rows) * static_cast<double>(product->inputs) *
              static_cast<double>(product->outputs);
    if (const auto* product = std::get_if<GroupedProduct>(&one))
      macs += product->rows * static_cast<double>(product->inputs) * static_cast<double>(product->outputs);
  }
  if (computes_attention(layer)) {
    const double pairs = static_cast<double>(layer.model.forward_macs.value_or(0));
    return 2 * (macs + pairs) + (layer.has_backward() ? 4 * pairs : 0);
  }
  return 2 * macs * (1 + (layer.frozen ? 0 : 1) + (layer.passes_on ? 1 : 0));
}

double flops(const Computation& work) {
  double sum = 0;
  for (const ComputationLayer& layer : work.layers) sum += flops(layer);
  return sum;
}

// Decides which layers compute gradients of their input, and which inputs are kept. Autograd computes the gradient of
// an operator's input only if that input depends on a trained parameter, and keeps the input of a matrix product only
// if its weight is trained (docs/estimation.md). Products with the same input share one kept copy; attention keeps its
// own output.
void apply_freezing(Computation& work) {
  std::map<std::int64_t, std::size_t> keepers;               // by width of the input
  std::vector<bool> keeps_input(work.layers.size(), false);  // on behalf of all products that read it
  bool trained = false;
  for (std::size_t i = 0; i < work.layers.size(); ++i) {
    ComputationLayer& layer = work.layers[i];
    layer.passes_on = trained;
    if (computes_attention(layer)) keepers.clear();
    if (const Product* product = product_of(layer)) {
      if (layer.kept_input > 0) keepers[product->inputs] = i;
      if (const auto keeper = keepers.find(product->inputs); keeper != keepers.end()) {
        layer.passes_on = work.layers[keeper->second].passes_on;
        if (!layer.frozen) keeps_input[keeper->second] = true;
      }
    }
    trained = trained || !layer.frozen;
  }
  for (std::size_t i = 0; i < work.layers.size(); ++i) {
    ComputationLayer& layer = work.layers[i];
    if (!layer.has_backward()) {
      layer.kept = layer.kept_selective = {};
      if (keeps_input[i]) layer.kept.elements = layer.kept_input;
    } else if (!keeps_input[i]) {
      layer.kept.elements -= layer.kept_input;
    }
  }
}

// Scales model_flops by how much the FLOPs of one worker of a tensor group have changed.
void apply_freezing_with_flops(Computation& work, double before) {
  apply_freezing(work);
  work.model_flops *= flops(work) / before;
}

bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  for (std::size_t at = star; at <= name.size(); ++at)
    if (matches(pattern.substr(star + 1), name.substr(at))) return true;
  return false;
}

struct BlockRange {
  std::int64_t first = 0, last = 0;
};

std::optional<BlockRange> blocks_of(const std::string& pattern, const SourceLocation& place) {
  constexpr std::string_view start = "blocks:";
  if (!pattern.starts_with(start)) return std::nullopt;
  const auto ends = split(std::string_view(pattern).substr(start.size()), "-");
  if (ends.empty() || ends.size() > 2)
    throw InputError(place, fmt::format("'{}' is not a range of blocks", pattern), "such as blocks:0-15");
  constexpr std::int64_t most = 1'000'000;
  const std::int64_t first = parse_integer(ends.front(), 0, most, place);
  return BlockRange{first, parse_integer(ends.back(), first, most, place)};
}

// PEFT's default targets are a model's queries and values, or the layer that computes them (peft, utils/constants.py:
// TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING).
constexpr std::string_view usual_targets[][2] = {{"q_proj", "v_proj"}, {"query", "value"}, {"q_proj", "kv_b_proj"},
                                                 {"qkv_proj", ""},     {"c_attn", ""},     {"query_key_value", ""}};

struct ShortTarget {
  std::string_view name;
  std::vector<std::string_view> ends;
};
const ShortTarget short_targets[] = {
    {"q", {"q_proj", "query"}},
    {"k", {"k_proj", "key"}},
    {"v", {"v_proj", "value"}},
    {"o", {"o_proj", "out_proj", "attn.c_proj", "attention.output.dense", "attention.dense"}},
    {"gate", {"gate_proj"}},
    {"up", {"up_proj"}},
    {"down", {"down_proj"}}};

bool ends_with_part(std::string_view name, std::string_view end) {
  return name == end || (name.ends_with(end) && name[name.size() - end.size() - 1] == '.');
}

bool is_target(const ComputationLayer& layer, std::string_view target) {
  if (target == "all-linear") return true;
  for (const ShortTarget& one : short_targets)
    if (one.name == target)
      return std::any_of(one.ends.begin(), one.ends.end(),
                         [&](std::string_view end) { return ends_with_part(layer.model.name, end); });
  return ends_with_part(layer.model.name, target);
}

// Only matrix products of blocks can have adapters; PEFT's "all-linear" excludes the head, too.
bool takes_adapter(const ComputationLayer& layer) { return layer.block >= 0 && product_of(layer); }

std::vector<std::string> default_targets(const Computation& work) {
  for (const auto& row : usual_targets) {
    std::vector<std::string> targets;
    for (const std::string_view target : row)
      if (std::any_of(work.layers.begin(), work.layers.end(), [&](const ComputationLayer& layer) {
            return !target.empty() && takes_adapter(layer) && is_target(layer, target);
          }))
        targets.emplace_back(target);
    if (!targets.empty() && (targets.size() == 2 || row[1].empty())) return targets;
  }
  return {};
}

void require_targets(const Computation& work, std::span<const std::string> targets, const SourceLocation& place) {
  std::vector<std::string> known;  // the ends of the names of one block's products
  for (const ComputationLayer& layer : work.layers)
    if (takes_adapter(layer) && layer.block == 0)
      known.push_back(layer.model.name.substr(layer.model.name.rfind('.') + 1));
  for (const std::string& target : targets) {
    if (target == "all-linear" && work.has_experts())
      throw InputError(place, fmt::format("experts of {} are grouped products, which take no adapters", work.name),
                       fmt::format("names of {}", fmt::join(known, ", ")));
    if (std::none_of(work.layers.begin(), work.layers.end(),
                     [&](const ComputationLayer& layer) { return takes_adapter(layer) && is_target(layer, target); }))
      throw InputError(place, fmt::format("{} has no product '{}' in its blocks", work.name, target),
                       fmt::format("all-linear, {}", fmt::join(known, ", ")));
  }
}

// The adapter B·A, parallel to a product: both matrices, the scaling of the result, and its addition to the product's.
ComputationLayer adapter_of(ComputationLayer& base, std::int64_t rank) {
  const Product product = *product_of(base);
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double rows = number(product.rows), outputs = rows * number(product.outputs);
  ComputationLayer adapter;
  const std::string& name = base.model.name;
  adapter.model.name = name + ".lora";
  adapter.model.tensors = {{name + ".lora_A.default.weight", {rank, product.inputs}, rank * product.inputs},
                           {name + ".lora_B.default.weight", {product.outputs, rank}, product.outputs * rank}};
  adapter.model.forward_macs = product.rows * rank * (product.inputs + product.outputs);
  adapter.model.activation_bytes = base.model.activation_bytes;
  adapter.group = base.group;
  adapter.block = base.block;
  adapter.operators.emplace_back(Product{product.rows, product.inputs, rank, product.input_elements, true, true});
  adapter.operators.emplace_back(Product{product.rows, rank, product.outputs, rows * number(rank), true, true});
  adapter.operators.emplace_back(Pass{2 * outputs, 2 * outputs});                        // times alpha / rank
  adapter.operators.emplace_back(Pass{3 * outputs, 3 * rows * number(product.inputs)});  // sums
  adapter.kept.elements = rows * number(rank);
  adapter.kept_selective.elements = rows * number(rank) + outputs;
  adapter.handed_on = std::exchange(base.handed_on, 0);
  return adapter;
}

}  // namespace

void freeze(Computation& work, std::span<const std::string> patterns, const SourceLocation& place) {
  const double before = flops(work);
  for (const std::string& pattern : patterns) {
    const auto blocks = blocks_of(pattern, place);
    bool found = false;
    for (ComputationLayer& layer : work.layers) {
      const bool named = blocks ? layer.block >= blocks->first && layer.block <= blocks->last
                                : layer.group == pattern || matches(pattern, layer.model.name);
      found = found || (named && !layer.model.tensors.empty());
      layer.frozen = layer.frozen || named;
    }
    if (!found)
      throw InputError(place, fmt::format("'{}' names no layer of {} with parameters", pattern, work.name),
                       "embeddings, head, blocks:0-15, or a layer's name, with * for any text");
  }
  if (work.trained_parameters() == 0)
    throw InputError(place, "freezes every layer: nothing is trained", "layers that leave some to train");
  const bool tied = work.layers.front().frozen;  // the word embedding, which products without a tensor use
  for (ComputationLayer& layer : work.layers)
    if (layer.model.tensors.empty()) layer.frozen = !product_of(layer) || tied;
  apply_freezing_with_flops(work, before);
}

void add_adapters(Computation& work, std::int64_t rank, std::span<const std::string> targets,
                  const SourceLocation& rank_place, const SourceLocation& targets_place) {
  const std::vector<std::string> usual = targets.empty() ? default_targets(work) : std::vector<std::string>();
  if (targets.empty() && usual.empty())
    throw InputError(rank_place, fmt::format("{} has no queries and values to adapt", work.name),
                     "a transformer, or --lora-targets");
  if (targets.empty()) targets = usual;
  require_targets(work, targets, targets_place);
  const double before = flops(work);
  std::vector<ComputationLayer> layers;
  for (ComputationLayer& layer : work.layers) {
    layer.frozen = true;
    layers.push_back(layer);
    if (!takes_adapter(layer) ||
        std::none_of(targets.begin(), targets.end(), [&](const std::string& one) { return is_target(layer, one); }))
      continue;
    const Product& product = *product_of(layer);
    if (rank > std::min(product.inputs, product.outputs))
      throw InputError(
          rank_place,
          fmt::format("{} is more than the {} x {} of {}", rank, product.inputs, product.outputs, layer.model.name),
          fmt::format("at most {}", std::min(product.inputs, product.outputs)));
    layers.push_back(adapter_of(layers.back(), rank));
    if (work.model_parameters > 0)
      for (std::int64_t* all : {&work.model_parameters, &work.active_parameters})
        *all += rank * (product.inputs + product.outputs);
  }
  work.layers = std::move(layers);
  apply_freezing_with_flops(work, before);
}

}  // namespace allreplay
