// Which operators of a PyTorch trace are an iteration's, and which of them belong together: a forward operator, the
// backward nodes that it made, and the gradients that these led to. Forward and backward meet in autograd's sequence
// number. A gradient is ready when AccumulateGrad runs, so the trace itself says which parameters an operator has.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "sim/interchange/importers/kineto_events.hpp"

namespace allreplay::kineto {

using Id = std::uint32_t;  ///< a place in a list
inline constexpr Id none = ~Id{0};

/// What says where an iteration ends.
enum class Marks : std::uint8_t { Profiler, Optimizer, None };

struct Step {
  std::int64_t start = 0, end = 0;
  std::uint16_t thread = 0;
  std::int64_t loading = 0;  ///< the CPU's time in the DataLoader
};

struct Steps {
  std::vector<Step> all;  ///< by their starts
  Marks marks = Marks::None;

  Id at(std::int64_t time) const;  ///< none outside of all
};

/// An operator inside no other; or inside another, for what the job does there for its communication.
struct Root {
  std::int64_t start = 0, end = 0;
  Id name = 0, dims = 0;
  Id module = none;   ///< the innermost nn.Module around it
  Id step = none;     ///< where it starts
  Id creator = none;  ///< backward: the forward root whose node it runs
  Id outer = none;    ///< the root around it
  std::uint16_t thread = 0;
  bool backward = false;
  bool optimizer = false;
  bool copies = false;  ///< of gradients and parameters, for communication
};

struct Gradient {
  Id root = none;  ///< of the forward pass
  Id dims = 0;
  std::int64_t at = 0;
};

struct Roots {
  std::vector<Root> all;    ///< by thread, then start
  std::vector<Id> of_span;  ///< of each span; none for annotations and modules
  std::uint16_t forward_thread = 0;
  std::map<Id, std::vector<Gradient>> gradients;  ///< by step, as they became ready
  KinetoSpan::Element element = KinetoSpan::Element::Unknown;
};

/// Whether a span's name begins so.
bool named(const KinetoTrace& trace, const KinetoSpan& span, std::string_view start);

/// The ProfilerStep#n annotations; without them, an iteration ends with Optimizer.step; without that, all is one.
Steps find_steps(const KinetoTrace& trace);

/// Sorts the trace's spans, in which they stand. `communicates`: the job has several ranks, so that some operators are
/// there for its communication.
Roots find_roots(KinetoTrace& trace, const Steps& steps, bool communicates);

}  // namespace allreplay::kineto
