// The times of operators on a device by the roofline model: the longer of computing at the peak rate and moving bytes
// at the memory's bandwidth, plus the start of a kernel. Products and attention are cut into tiles, computed in waves
// of one per multiprocessor; partly filled ones cost as much as full ones. Nothing is fitted (docs/estimation.md).
#pragma once

#include "sim/inputs/estimate/computation.hpp"
#include "sim/inputs/estimate/device.hpp"

namespace allreplay {

/// The rates of a device in one precision.
struct Rates {
  double matrix = 0;     ///< FLOP/s of products in the precision; in fp8 and fp4, of those outside blocks
  double in_blocks = 0;  ///< FLOP/s of the products of blocks
  double vector = 0;     ///< FLOP/s of everything else: fp32, not on tensor cores
  double bandwidth = 0;  ///< bytes/s
  double element = 4;    ///< size in bytes
  std::int64_t sms = 1;
  Efficiency efficiency;  ///< the device's, or the usual one of the precision

  /// FLOP/s that products reach; in fp8 and fp4, those outside blocks.
  double reached() const { return matrix * efficiency.products; }
};

/// Throws InputError at `place` if the device does not have the precision.
Rates rates_of(const Device& device, const std::string& precision, const SourceLocation& place);

/// The fraction of the roofline that published trainings reach, for devices that do not say their own.
double usual_efficiency(const std::string& precision);

/// The seconds of kernels at the roofline, by the efficiency that applies to them. The start of a kernel takes the same
/// time whatever the kernel computes.
struct KernelSeconds {
  double products = 0;  ///< of all but attention
  double attention = 0;
  double starts = 0;

  double at(const Efficiency& efficiency) const {
    return products / efficiency.products + attention / efficiency.attention + starts;
  }
  double total() const { return at({}); }
  KernelSeconds& operator+=(const KernelSeconds& other) {
    products += other.products;
    attention += other.attention;
    starts += other.starts;
    return *this;
  }
};

/// The seconds of one layer for a mini-batch.
struct LayerSeconds {
  KernelSeconds forward, backward;
  KernelSeconds passes;   ///< the part of `forward` that is neither a product nor attention
  KernelSeconds weights;  ///< the part of `backward` that computes gradients of weights
};

/// Frozen layers compute no gradients of weights, and none at all if they pass none on.
LayerSeconds layer_seconds(const ComputationLayer& layer, const Rates& rates, std::int64_t batch);

/// The seconds of a rows × depth times depth × outputs product that moves `moved` elements, without the kernel's start;
/// of `groups` such products, if one kernel computes several.
double product_seconds(const Rates& rates, double rows, double depth, double outputs, double moved, double groups = 1);

/// The seconds of an optimizer step over `parameters` parameters, by memory traffic only.
KernelSeconds update_seconds(const Rates& rates, double parameters, Optimizer optimizer);

}  // namespace allreplay
