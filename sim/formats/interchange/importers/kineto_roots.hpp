// Finds the iterations of a PyTorch trace, and in them the operators that belong together: a forward operator, the
// backward nodes that it created, and the gradients that these computed. Autograd's sequence number connects forward
// and backward. A gradient is ready when AccumulateGrad runs, so the trace shows which parameters an operator has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/formats/interchange/importers/kineto_events.hpp"

namespace allreplay::kineto {

using Id = std::uint32_t;  ///< an index
inline constexpr Id none = ~Id{0};

/// The events that mark the ends of iterations.
enum class Marks : std::uint8_t { Profiler, Optimizer, None };

struct Step {
  std::int64_t start = 0, end = 0;
  std::uint16_t thread = 0;
  std::int64_t loading = 0;            ///< the CPU's time in the DataLoader
  std::optional<std::int64_t> number;  ///< n of ProfilerStep#n
};

struct Steps {
  std::vector<Step> all;  ///< by start
  Marks marks = Marks::None;

  Id at(std::int64_t time) const;  ///< `none` outside of all steps
};

/// An outermost operator, or one inside another root that copies or sends data for communication.
struct Root {
  std::int64_t start = 0, end = 0;
  Id name = 0, dims = 0;
  Id module = none;   ///< the innermost nn.Module around it
  Id step = none;     ///< the step in which it starts
  Id creator = none;  ///< for a backward root, the forward root whose node it runs
  Id outer = none;    ///< the root that contains it
  std::uint16_t thread = 0;
  bool backward = false;
  bool optimizer = false;
  bool copies = false;     ///< it copies gradients or parameters for communication
  bool unmatched = false;  ///< it runs a node that no forward operator of its step created
};

struct Gradient {
  Id root = none;  ///< the forward root that it belongs to
  Id dims = 0;
  std::int64_t at = 0;
  bool unmatched = false;  ///< it follows an unmatched node, so `root` is only the one before
};

struct Roots {
  std::vector<Root> all;    ///< by thread, then start
  std::vector<Id> of_span;  ///< by span; `none` for annotations and modules
  std::uint16_t forward_thread = 0;
  std::int64_t accumulations = 0, in_steps = 0;   ///< AccumulateGrad in the whole trace, and those in steps
  std::map<Id, std::vector<Gradient>> gradients;  ///< by step, in the order in which they became ready
  std::map<Id, std::int64_t> lost;                ///< by step: gradients before which no node has a forward root
  KinetoSpan::Element element = KinetoSpan::Element::Unknown;
};

/// True if the root runs a backward node, or is autograd's work for one.
bool is_backward(const KinetoTrace& trace, const Root& root);

/// True if the span's name begins with `start`.
bool named(const KinetoTrace& trace, const KinetoSpan& span, std::string_view start);

/// Throws InputError if `depth`, of nested spans, is above 500: each operator searches the spans around it.
void require_bearable_depth(const KinetoTrace& trace, std::size_t depth);

/// Returns the ProfilerStep#n annotations; without them, steps end with Optimizer.step; without that, all is one step.
Steps find_steps(const KinetoTrace& trace);

/// Sorts the trace's spans and finds their roots. Throws InputError if they are nested too deeply. `communicates`: some
/// operators serve communication between ranks.
Roots find_roots(KinetoTrace& trace, const Steps& steps, bool communicates);

}  // namespace allreplay::kineto
