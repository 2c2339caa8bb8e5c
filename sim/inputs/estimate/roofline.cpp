#include "sim/inputs/estimate/roofline.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/inputs/workload/profile.hpp"

namespace allreplay {

namespace {

constexpr double launch = 5e-6;      // seconds to start a kernel: a few microseconds on every GPU
constexpr double tile = 128;         // rows and columns of the output that one multiprocessor computes at a time
constexpr double least_depth = 256;  // the fewest inputs in each part of a product that is split along its inputs
// The rate of fused attention relative to large products: FlashAttention-2 reaches 35 % of an H100's peak
// (FlashAttention-3, arXiv 2407.08608), where products reach about 70 %.
constexpr double attention_part = 0.5;

// Found by tools/estimation_errors.py in published trainings (docs/estimation.md): on tensor cores, and in fp32.
constexpr double tensor_core_efficiency = 0.48;
constexpr double fp32_efficiency = 0.87;

// The longer of computing and moving the elements.
double kernel(const Rates& rates, double compute, double elements) {
  return std::max(compute, elements * rates.element / rates.bandwidth);
}

KernelSeconds started(double products) { return {.products = products, .starts = launch}; }

// The number of waves of tiles; the last one takes as long as a full one.
double waves(const Rates& rates, double tiles) { return std::ceil(tiles / static_cast<double>(rates.sms)); }

// The side of a tile: narrow matrices have narrow tiles.
double side(double extent) { return extent <= tile / 2 ? tile / 2 : tile; }

double seconds_of_tile(const Rates& rates, double elements, double depth) {
  return 2 * elements * depth * static_cast<double>(rates.sms) / rates.matrix;
}

// The seconds of attention by the roofline; with a causal mask, only half of the pairs of tokens count. Forward has two
// products of all pairs; backward has five, because it computes the scores again. `width` is the sum of their widths.
KernelSeconds attention_seconds(const Rates& rates, const Attention& one, double batch, double width, double elements) {
  const double tokens = static_cast<double>(one.tokens);
  const double heads = batch * static_cast<double>(one.heads), side = std::ceil(tokens / tile);
  // Each tile of queries is multiplied by all tiles of keys or, with a mask, by those up to its own.
  const double workers = static_cast<double>(one.workers);
  const double pairs = (one.causal ? side * (side + 1) / 2 : side * side) / workers;
  const double flops = heads * pairs * tile * tile * 2 * width;
  const double full = heads * side / workers / static_cast<double>(rates.sms);
  const double compute = flops / (attention_part * rates.matrix) * std::max(1.0, std::ceil(full) / full);
  return {.attention = kernel(rates, compute, elements), .starts = launch};
}

struct SecondsOf {
  const Rates& rates;
  const Rates& of_block;  // with the rate of products of blocks, in one of them
  double batch;
  const ComputationLayer& layer;
  LayerSeconds sum;

  // The gradients of the input of a layer's first products are those of the layer's input.
  bool wants_input_gradient() const { return layer.passes_on || sum.forward.products > 0; }

  void operator()(const Product& one) {
    const double rows = batch * static_cast<double>(one.rows), inputs = static_cast<double>(one.inputs),
                 outputs = static_cast<double>(one.outputs);
    const Rates& own = one.never_narrow ? rates : of_block;
    // Each of the three products moves input, weights and output, or their gradients.
    const double moved = batch * one.input_elements + inputs * outputs + rows * outputs;
    const bool input_gradient = one.input_gradient && wants_input_gradient();
    sum.forward += started(product_seconds(own, rows, inputs, outputs, moved));
    if (input_gradient) sum.backward += started(product_seconds(own, rows, outputs, inputs, moved));
    if (layer.frozen) return;
    const KernelSeconds weights = started(product_seconds(own, outputs, rows, inputs, moved));
    sum.backward += weights;
    sum.weights += weights;
  }

  void operator()(const GroupedProduct& one) {
    const double groups = static_cast<double>(one.groups), inputs = static_cast<double>(one.inputs),
                 outputs = static_cast<double>(one.outputs), rows = batch * one.rows / groups;
    const double moved = groups * (rows * inputs + inputs * outputs + rows * outputs);
    sum.forward += started(product_seconds(of_block, rows, inputs, outputs, moved, groups));
    sum.backward += started(product_seconds(of_block, rows, outputs, inputs, moved, groups));
    if (layer.frozen) return;
    const KernelSeconds weights = started(product_seconds(of_block, outputs, rows, inputs, moved, groups));
    sum.backward += weights;
    sum.weights += weights;
  }

  // Forward, one product of all pairs has queries' width and one values'; backward three and two.
  void operator()(const Attention& one) {
    const double tokens = batch * static_cast<double>(one.tokens), size = static_cast<double>(one.head_size),
                 value = static_cast<double>(one.value_size > 0 ? one.value_size : one.head_size);
    const double queries = tokens * static_cast<double>(one.heads) / static_cast<double>(one.workers),
                 keys = tokens * static_cast<double>(one.kv_heads);
    const double elements = (queries + keys) * (size + value);
    sum.forward += attention_seconds(rates, one, batch, size + value, elements);
    sum.backward += attention_seconds(rates, one, batch, 3 * size + 2 * value, 2 * elements);
  }

  void operator()(const Pass& one) {
    const double compute = 2 * batch * one.macs / rates.vector;
    const KernelSeconds forward =
        one.forward > 0 ? started(kernel(rates, compute, batch * one.forward)) : KernelSeconds{};
    sum.forward += forward;
    sum.passes += forward;
    if (layer.frozen && one.weights) return;
    const KernelSeconds backward = started(kernel(rates, 2 * compute, batch * one.backward + one.backward_once));
    sum.backward += backward;
    if (one.weights) sum.weights += backward;
  }

  void operator()(const PlainKernel& one) {
    const double time = kernel(rates, 2 * batch * one.macs / rates.matrix, batch * one.elements + one.once);
    (one.backward ? sum.backward : sum.forward) += {.products = one.times * time, .starts = one.times * launch};
  }
};

}  // namespace

double usual_efficiency(const std::string& precision) {
  return precision == "fp32" ? fp32_efficiency : tensor_core_efficiency;
}

Rates rates_of(const Device& device, const std::string& precision, const SourceLocation& place) {
  const auto whole = precisions_of(device);
  if (!device.peak.contains(precision)) {
    std::vector<std::string> known = whole;
    for (const auto narrow : {"fp8", "fp4"})
      if (device.peak.contains(narrow)) known.emplace_back(narrow);
    throw InputError(place, fmt::format("{} has no {}", device.name, precision),
                     fmt::format("{}", fmt::join(known, ", ")));
  }
  const auto fp32 = device.peak.find("fp32");
  const double matrix = device.peak.at(is_narrow(precision) ? whole.front() : precision);
  const double usual = usual_efficiency(precision);
  return {.matrix = matrix,
          .in_blocks = device.peak.at(precision),
          .vector = fp32 == device.peak.end() ? matrix : fp32->second,
          .bandwidth = device.bandwidth,
          .element = static_cast<double>(element_bytes(precision).value_or(4)),
          .sms = device.sms,
          .efficiency = device.efficiency && precision != "fp32" ? *device.efficiency : Efficiency{usual, usual}};
}

double product_seconds(const Rates& rates, double rows, double depth, double outputs, double moved, double groups) {
  const double high = side(rows), wide = side(outputs), area = high * wide;
  const double tiles = groups * std::ceil(rows / high) * std::ceil(outputs / wide);
  double compute = waves(rates, tiles) * seconds_of_tile(rates, area, depth);
  // Products with few outputs and many inputs are split along the inputs; the parts are summed in fp32.
  for (double parts = 2; tiles < static_cast<double>(rates.sms) && depth / parts >= least_depth && parts <= 32;
       parts *= 2) {
    const double split = waves(rates, tiles * parts) * seconds_of_tile(rates, area, depth / parts) +
                         2 * parts * groups * rows * outputs * fp32_bytes / rates.bandwidth;
    compute = std::min(compute, split);
  }
  return kernel(rates, compute, moved);
}

LayerSeconds layer_seconds(const ComputationLayer& layer, const Rates& rates, std::int64_t batch) {
  Rates of_block = rates;
  if (layer.block >= 0) of_block.matrix = rates.in_blocks;
  SecondsOf seconds{rates, of_block, static_cast<double>(batch), layer, {}};
  for (const Operator& one : layer.operators) std::visit(seconds, one);
  if (!layer.has_backward()) seconds.sum.backward = {};
  return seconds.sum;
}

KernelSeconds update_seconds(const Rates& rates, double parameters, Optimizer optimizer) {
  // Adam reads gradient, weight and two moments, and writes all but the gradient; SGD with momentum has one moment. If
  // gradients have two bytes, the weight is also kept in fp32, and written in both formats: 28 and 20 bytes in either
  // case. Unfused, Adam's loops read and write 19 times 4 bytes.
  constexpr double bytes[] = {28, 76, 20, 28};
  return started(parameters * bytes[static_cast<std::size_t>(optimizer)] / rates.bandwidth);
}

}  // namespace allreplay
