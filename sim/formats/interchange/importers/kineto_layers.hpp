// Attributes GPU kernels to the operator that launched them, and operators to layers. A layer is an outermost forward
// operator whose backward nodes end in AccumulateGrad. Operators without parameters (activations, pooling, the loss)
// count towards the layer before them. Communication of several ranks (NCCL, and copies for it) belongs to no layer.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/formats/interchange/importers/kineto_roots.hpp"
#include "sim/formats/interchange/importers/overlap.hpp"

namespace allreplay::kineto {

/// The purpose of a kernel that belongs to no layer.
enum class Elsewhere : std::uint8_t { BeforeFirst, Optimizer, Communication, Copies, Unmatched, Other, count };
inline constexpr auto elsewhere_count = static_cast<std::size_t>(Elsewhere::count);
inline constexpr std::string_view elsewhere_names[elsewhere_count] = {"before the first layer (copies of the input)",
                                                                      "the optimizer",
                                                                      "communication (NCCL)",
                                                                      "copies for communication",
                                                                      "backward nodes without a forward operator",
                                                                      "operators outside forward and backward passes"};

/// The time of one pass of one layer, in nanoseconds. `overlapped`: the part during which communication ran.
struct PassTime {
  std::int64_t all = 0, overlapped = 0;
};

struct LayerTimes {
  PassTime forward, backward;
};

/// One step: its layers (roots, in forward order, once for each micro-batch) and their times.
struct ProfiledIteration {
  std::vector<Id> layers;
  std::vector<std::vector<Id>> gradients;  ///< their dims, in the order in which they become ready
  std::vector<LayerTimes> times;
  std::size_t micro_batches = 1;
  bool updates_each = false;  ///< the optimizer runs after each micro-batch, so each is an iteration
  std::vector<Id> pass_ends;  ///< the last root of each micro-batch's forward pass
  std::array<std::int64_t, elsewhere_count> elsewhere{};
  std::int64_t unmatched = 0;  ///< the part of backward times in nodes without a forward operator (see Root)
  std::int64_t reordered = 0;  ///< gradients that became ready before those of a later layer of the micro-batch

  /// The number of layers of one micro-batch; those of micro-batch m start at m times this number.
  std::size_t layers_each() const { return layers.size() / micro_batches; }
  /// Returns the index of the layer with this root. REQUIRES: there is one.
  std::size_t layer_with(Id root) const {
    return static_cast<std::size_t>(std::lower_bound(layers.begin(), layers.end(), root) - layers.begin());
  }
  std::int64_t in(Elsewhere where) const { return elsewhere[static_cast<std::size_t>(where)]; }
};

/// A trace with its steps, layers and the layer of every kernel.
struct Attribution {
  KinetoTrace trace;
  bool communicates = false;
  Steps steps;
  Roots roots;
  std::vector<ProfiledIteration> iterations;  ///< by step
  std::vector<Id> root_of_kernel;
  SlowdownEstimate slowdown;    ///< of computation by communication
  std::int64_t outside = 0;     ///< kernel time outside of all steps
  std::int64_t unlaunched = 0;  ///< kernel time that no recorded operator launched
  std::int64_t ambiguous = 0;   ///< kernels whose external id operators of several roots have

  const Root& root(Id id) const { return roots.all[id]; }
  /// True if a kernel runs in one of these steps, which are in ascending order.
  bool runs_in(const std::vector<Id>& some, std::size_t kernel) const;
  /// The step of the operator that launched a kernel or, if that is not known (DDP's hooks), at whose launch it was.
  Id step_of(std::size_t kernel) const;
  /// When and on which thread a kernel was launched: by its launch; without that, by its root, or else when it ran.
  KinetoLaunch launch(std::size_t kernel) const;
};

/// Attributes a trace. A trace without kernels is taken as training on a CPU.
Attribution attributed(KinetoTrace trace);

inline Interval interval_of(const KinetoKernel& kernel) { return {kernel.start, kernel.start + kernel.duration}; }

/// Returns the call that launched the kernel with this correlation id; null if the trace has none.
const KinetoLaunch* launch_of(const KinetoTrace& trace, Id correlation);

}  // namespace allreplay::kineto
