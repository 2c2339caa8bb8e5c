// How long operators take on a device, by the roofline: the longer of computing at the peak rate and moving bytes at
// the memory's bandwidth, and the start of a kernel. Products and attention are cut into tiles, computed in waves of
// one tile per multiprocessor, so that what does not fill tiles and waves is paid for. Nothing here is fitted;
// docs/estimation.md.
#pragma once

#include "sim/estimate/computation.hpp"
#include "sim/estimate/device.hpp"

namespace allreplay {

/// A device at work in one precision.
struct Rates {
  double matrix = 0;     ///< FLOP/s of products in the precision
  double vector = 0;     ///< FLOP/s of all else: fp32, off the tensor cores
  double bandwidth = 0;  ///< bytes/s
  double element = 4;    ///< bytes
  std::int64_t sms = 1;
};

/// Throws InputError at `place` where the device does not have the precision.
Rates rates_of(const Device& device, const std::string& precision, const SourceLocation& place);

/// Seconds of one layer for a mini-batch.
struct LayerSeconds {
  double forward = 0, backward = 0;
  double passes = 0;   ///< the part of `forward` that is neither a product nor attention
  double weights = 0;  ///< the part of `backward` that makes gradients of weights
};

LayerSeconds layer_seconds(const ComputationLayer& layer, const Rates& rates, std::int64_t batch);

/// Seconds of rows × depth times depth × outputs that moves so many elements, the kernel's start included.
double product_seconds(const Rates& rates, double rows, double depth, double outputs, double moved);

/// Seconds of the optimizer's step over so many parameters, by memory traffic alone.
double update_seconds(const Rates& rates, double parameters, Optimizer optimizer);

}  // namespace allreplay
