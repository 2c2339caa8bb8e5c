// The times of operators on a device by the roofline model: the longer of computing at the peak rate and moving bytes
// at the memory's bandwidth, plus the start of a kernel. Products and attention are cut into tiles, computed in waves
// of one per multiprocessor; partly filled ones cost as much as full ones. Nothing is fitted (docs/estimation.md).
#pragma once

#include "sim/estimate/computation.hpp"
#include "sim/estimate/device.hpp"

namespace allreplay {

/// The rates of a device in one precision.
struct Rates {
  double matrix = 0;     ///< FLOP/s of products in the precision
  double vector = 0;     ///< FLOP/s of everything else: fp32, not on tensor cores
  double bandwidth = 0;  ///< bytes/s
  double element = 4;    ///< size in bytes
  std::int64_t sms = 1;
};

/// Throws InputError at `place` if the device does not have the precision.
Rates rates_of(const Device& device, const std::string& precision, const SourceLocation& place);

/// The seconds of one layer for a mini-batch.
struct LayerSeconds {
  double forward = 0, backward = 0;
  double passes = 0;   ///< the part of `forward` that is neither a product nor attention
  double weights = 0;  ///< the part of `backward` that computes gradients of weights
};

LayerSeconds layer_seconds(const ComputationLayer& layer, const Rates& rates, std::int64_t batch);

/// The seconds of a rows × depth times depth × outputs product that moves `moved` elements, with the kernel's start; of
/// `groups` such products, if one kernel computes several.
double product_seconds(const Rates& rates, double rows, double depth, double outputs, double moved, double groups = 1);

/// The seconds of an optimizer step over `parameters` parameters, by memory traffic only.
double update_seconds(const Rates& rates, double parameters, Optimizer optimizer);

}  // namespace allreplay
