#include "sim/estimate/roofline.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/workload/profile.hpp"

namespace allreplay {

namespace {

constexpr double launch = 5e-6;      // seconds to start a kernel: a few microseconds on every GPU
constexpr double tile = 128;         // rows and columns of the output that one multiprocessor computes at a time
constexpr double least_depth = 256;  // the fewest inputs in each part of a product that is split along its inputs
// The rate of fused attention relative to large products: FlashAttention-2 reaches 35 % of an H100's peak
// (FlashAttention-3, arXiv 2407.08608), where products reach about 70 %.
constexpr double attention_part = 0.5;

double kernel(const Rates& rates, double compute, double elements) {
  return std::max(compute, elements * rates.element / rates.bandwidth) + launch;
}

// The number of waves of tiles; the last one takes as long as a full one.
double waves(const Rates& rates, double tiles) { return std::ceil(tiles / static_cast<double>(rates.sms)); }

// The side of a tile: narrow matrices have narrow tiles.
double side(double extent) { return extent <= tile / 2 ? tile / 2 : tile; }

double seconds_of_tile(const Rates& rates, double elements, double depth) {
  return 2 * elements * depth * static_cast<double>(rates.sms) / rates.matrix;
}

// The seconds of attention by the roofline; with a causal mask, only half of the pairs of tokens count. Forward has two
// products of all pairs; backward has five, because it computes the scores again. `width` is the sum of their widths.
double attention_seconds(const Rates& rates, const Attention& one, double batch, double width, double elements) {
  const double tokens = static_cast<double>(one.tokens);
  const double heads = batch * static_cast<double>(one.heads), side = std::ceil(tokens / tile);
  // Each tile of queries is multiplied by all tiles of keys or, with a mask, by those up to its own.
  const double workers = static_cast<double>(one.workers);
  const double pairs = (one.causal ? side * (side + 1) / 2 : side * side) / workers;
  const double flops = heads * pairs * tile * tile * 2 * width;
  const double full = heads * side / workers / static_cast<double>(rates.sms);
  return kernel(rates, flops / (attention_part * rates.matrix) * std::max(1.0, std::ceil(full) / full), elements);
}

struct SecondsOf {
  const Rates& rates;
  double batch;
  LayerSeconds sum;

  void operator()(const Product& one) {
    const double rows = batch * static_cast<double>(one.rows), inputs = static_cast<double>(one.inputs),
                 outputs = static_cast<double>(one.outputs);
    // Each of the three products moves input, weights and output, or their gradients.
    const double moved = batch * one.input_elements + inputs * outputs + rows * outputs;
    sum.forward += product_seconds(rates, rows, inputs, outputs, moved);
    if (one.input_gradient) sum.backward += product_seconds(rates, rows, outputs, inputs, moved);
    const double weights = product_seconds(rates, outputs, rows, inputs, moved);
    sum.backward += weights;
    sum.weights += weights;
  }

  void operator()(const GroupedProduct& one) {
    const double groups = static_cast<double>(one.groups), inputs = static_cast<double>(one.inputs),
                 outputs = static_cast<double>(one.outputs), rows = batch * one.rows / groups;
    const double moved = groups * (rows * inputs + inputs * outputs + rows * outputs);
    sum.forward += product_seconds(rates, rows, inputs, outputs, moved, groups);
    sum.backward += product_seconds(rates, rows, outputs, inputs, moved, groups);
    const double weights = product_seconds(rates, outputs, rows, inputs, moved, groups);
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
    const double forward = one.forward > 0 ? kernel(rates, compute, batch * one.forward) : 0;
    sum.forward += forward;
    sum.passes += forward;
    const double backward = kernel(rates, 2 * compute, batch * one.backward + one.backward_once);
    sum.backward += backward;
    if (one.weights) sum.weights += backward;
  }

  void operator()(const PlainKernel& one) {
    const double time = kernel(rates, 2 * batch * one.macs / rates.matrix, batch * one.elements + one.once);
    (one.backward ? sum.backward : sum.forward) += one.times * time;
  }
};

}  // namespace

Rates rates_of(const Device& device, const std::string& precision, const SourceLocation& place) {
  const auto known = precisions_of(device);
  if (std::find(known.begin(), known.end(), precision) == known.end())
    throw InputError(place, fmt::format("{} has no {}", device.name, precision),
                     fmt::format("{}", fmt::join(known, ", ")));
  const auto fp32 = device.peak.find("fp32");
  const double matrix = device.peak.at(precision);
  return {.matrix = matrix,
          .vector = fp32 == device.peak.end() ? matrix : fp32->second,
          .bandwidth = device.bandwidth,
          .element = static_cast<double>(element_bytes(precision).value_or(4)),
          .sms = device.sms};
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
  SecondsOf seconds{rates, static_cast<double>(batch), {}};
  for (const Operator& one : layer.operators) std::visit(seconds, one);
  return seconds.sum;
}

double update_seconds(const Rates& rates, double parameters, Optimizer optimizer) {
  // Adam reads gradient, weight and two moments, and writes all but the gradient; SGD with momentum has one moment. If
  // gradients have two bytes, the weight is also kept in fp32, and written in both formats: 28 and 20 bytes in either
  // case. Unfused, Adam's loops read and write 19 times 4 bytes.
  constexpr double bytes[] = {28, 76, 20, 28};
  return parameters * bytes[static_cast<std::size_t>(optimizer)] / rates.bandwidth + launch;
}

}  // namespace allreplay
