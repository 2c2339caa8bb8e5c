#include "sim/formats/interchange/importers/kineto_roots.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/base/core/error.hpp"

namespace allreplay::kineto {

namespace {

using Kind = KinetoSpan::Kind;

// Returns 12 for "ProfilerStep#12".
std::optional<std::int64_t> number_in(const std::string& name) {
  std::int64_t number = 0;
  const char* digits = name.data() + std::min(name.find('#') + 1, name.size());
  const bool is_number = std::from_chars(digits, name.data() + name.size(), number).ec == std::errc();
  return is_number && number >= 0 ? std::optional(number) : std::nullopt;
}

std::vector<Step> annotations(const KinetoTrace& trace, std::string_view start) {
  std::vector<Step> found;
  for (const KinetoSpan& span : trace.spans)
    if (span.kind == Kind::Annotation && named(trace, span, start))
      found.push_back({span.start, span.end, span.thread, 0, number_in(trace.names.text(span.name))});
  std::sort(found.begin(), found.end(), [](const Step& a, const Step& b) { return a.start < b.start; });
  return found;
}

// The forward pass runs on the thread of the steps; without steps, on the one with most forward operators.
std::uint16_t find_forward_thread(const KinetoTrace& trace, const Steps& steps) {
  if (steps.marks != Marks::None) return steps.all.front().thread;
  std::map<std::uint16_t, std::int64_t> votes;
  for (const KinetoSpan& span : trace.spans) votes[span.thread] += span.sequence >= 0 && !span.backward;
  std::uint16_t best = 0;
  for (const auto& [thread, count] : votes)
    if (count > votes[best]) best = thread;
  return best;
}

bool is_accumulation(const KinetoTrace& trace, const KinetoSpan& span) {
  return trace.names.text(span.name) == accumulation_name;
}

bool is_gradient_node(const KinetoTrace& trace, const Root& root) {
  return trace.names.text(root.name) == "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
}

// Recognises the work of DDP and FSDP: copies to and from buckets and flat parameters.
bool is_of_communication(const KinetoTrace& trace, const KinetoSpan& span) {
  static constexpr std::string_view names[] = {
      "torch.distributed.ddp.", "torch::distributed::reducer", "c10d::", "fsdp::", "FSDP::", "nccl:"};
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view name) { return named(trace, span, name); }) ||
         (named(trace, span, "FullyShardedDataParallel.") &&
          trace.names.text(span.name) != "FullyShardedDataParallel.forward");
}

// Before PyTorch 1.10 the copies of a gradient were not inside a node, but followed it.
bool copies_like_a_hook(const KinetoTrace& trace, const Root& root) {
  const std::string& name = trace.names.text(root.name);
  return name == "aten::mul" || name == "aten::copy_" || name == "aten::div_" || name == "aten::div";
}

// Walks twice over the spans of each thread, by start.
class RootFinder {
 public:
  RootFinder(KinetoTrace& trace, const Steps& steps, bool communicates)
      : trace_(trace), steps_(steps), communicates_(communicates) {}

  Roots run() && {
    std::sort(trace_.spans.begin(), trace_.spans.end(), [](const KinetoSpan& a, const KinetoSpan& b) {
      return std::tuple(a.thread, a.start, b.end, a.external) < std::tuple(b.thread, b.start, a.end, b.external);
    });
    roots_.forward_thread = find_forward_thread(trace_, steps_);
    find();
    match_backward();
    return std::move(roots_);
  }

 private:
  // A span that contains the current one.
  struct Around {
    Id span = none;
    std::int64_t end = 0;
  };

  // The spans of a thread are nested. Finds every root, with the spans that contain it.
  void find() {
    roots_.of_span.assign(trace_.spans.size(), none);
    std::vector<Around> around;
    for (Id i = 0; i < trace_.spans.size(); ++i) {
      const KinetoSpan& span = trace_.spans[i];
      while (!around.empty() &&
             (trace_.spans[around.back().span].thread != span.thread || around.back().end <= span.start))
        around.pop_back();
      require_bearable_depth(trace_, around.size());
      if (span.kind == Kind::CpuOperator) add_operator(i, around);
      // Since times are rounded to microseconds, a span may seem to end after the one that contains it.
      const std::int64_t end = around.empty() ? span.end : std::min(span.end, around.back().end);
      if (end > span.start) around.push_back({i, end});
    }
  }

  void add_operator(Id i, const std::vector<Around>& around) {
    const KinetoSpan& span = trace_.spans[i];
    std::vector<Root>& roots = roots_.all;
    Root root{span.start, span.end, span.name, span.dims};
    bool in_gradient = false;  // within AccumulateGrad itself
    for (const Around& one : around) {
      const KinetoSpan& other = trace_.spans[one.span];
      if (other.kind == Kind::CpuOperator) {
        root.outer = roots_.of_span[one.span];
        in_gradient |= is_accumulation(trace_, other);
      } else if (other.kind == Kind::Module) {
        root.module = other.name;
      } else {
        root.optimizer |= named(trace_, other, "Optimizer.");
        root.copies |= communicates_ && is_of_communication(trace_, other);
      }
    }
    root.copies |= communicates_ && is_of_communication(trace_, span);
    if (root.outer != none) {
      const Root& outer = roots[root.outer];
      // After a gradient's accumulation, in its node, only a hook runs: DDP's copy into its bucket.
      root.copies |= communicates_ && is_gradient_node(trace_, outer) && !in_gradient && !is_accumulation(trace_, span);
      root.backward = outer.backward;
      roots_.of_span[i] = root.outer;
    }
    if (root.outer == none || (root.copies && !roots[root.outer].copies)) {
      root.thread = span.thread;
      root.step = steps_.at(span.start);
      roots_.of_span[i] = static_cast<Id>(roots.size());
      roots.push_back(root);
    }
    Root& mine = roots[roots_.of_span[i]];
    mine.backward |= span.backward || is_accumulation(trace_, span);
    // Every operator has the number of the next node, so the last one to start with a number created that node.
    if (span.sequence >= 0 && !span.backward && span.thread == roots_.forward_thread && !mine.backward)
      makers_[span.sequence] = roots_.of_span[i];
  }

  // Visits backward roots by start: each runs the node of a forward root, or follows one that does.
  void match_backward() {
    std::uint16_t thread = 0;
    Id step = none, creator = none;
    Id root = none;
    bool behind_gradient = false, matched = false, behind_unmatched = false;
    for (Id i = 0; i < trace_.spans.size(); ++i) {
      const KinetoSpan& span = trace_.spans[i];
      if (roots_.of_span[i] == none) continue;
      Root& mine = roots_.all[roots_.of_span[i]];
      if (mine.thread != thread || mine.step != step) {
        creator = none;
        behind_unmatched = false;
      }
      thread = mine.thread;
      step = mine.step;
      if (roots_.of_span[i] != root) {
        root = roots_.of_span[i];
        matched = false;
        if (thread != roots_.forward_thread && creator != none) mine.backward = true;  // autograd's work between nodes
        mine.creator = mine.backward ? creator : none;
        mine.copies |= communicates_ && behind_gradient && !span.backward && copies_like_a_hook(trace_, mine);
        behind_gradient = mine.copies || is_accumulation(trace_, span);
      }
      if (!mine.backward) continue;
      if (span.backward) {
        const auto maker = makers_.find(span.sequence);
        const bool found = maker != makers_.end() && roots_.all[maker->second].step == step;
        if (found) mine.creator = creator = maker->second;
        // Nodes inside another one, of a forward pass that it ran again, count towards that one.
        matched |= found;
        mine.unmatched = behind_unmatched = !matched;
      }
      if (!is_accumulation(trace_, span)) continue;
      ++roots_.accumulations;
      if (step == none) continue;
      ++roots_.in_steps;
      if (mine.creator == none) {
        ++roots_.lost[step];
        continue;
      }
      roots_.gradients[step].push_back({mine.creator, span.dims, span.start, behind_unmatched});
      if (span.element != KinetoSpan::Element::Unknown) roots_.element = span.element;
    }
  }

  KinetoTrace& trace_;
  const Steps& steps_;
  bool communicates_;
  Roots roots_;
  std::unordered_map<std::int32_t, Id> makers_;  // by number of the node, the forward root that created it
};

}  // namespace

void require_bearable_depth(const KinetoTrace& trace, std::size_t depth) {
  constexpr std::size_t deepest = 500;  // a call of PyTorch's is some tens of spans deep
  if (depth > deepest)
    throw InputError({trace.file, ""}, fmt::format("has a span inside more than {} others of its thread", deepest),
                     "a PyTorch profiler's trace: spans that end before the next one starts, or contain it");
}

bool is_backward(const KinetoTrace& trace, const Root& root) {
  return root.backward || trace.names.text(root.name).starts_with("autograd::engine::evaluate_function");
}

bool named(const KinetoTrace& trace, const KinetoSpan& span, std::string_view start) {
  return trace.names.text(span.name).starts_with(start);
}

Id Steps::at(std::int64_t time) const {
  const auto after =
      std::upper_bound(all.begin(), all.end(), time, [](std::int64_t t, const Step& step) { return t < step.start; });
  if (after == all.begin() || time >= std::prev(after)->end) return none;
  return static_cast<Id>(after - all.begin() - 1);
}

Steps find_steps(const KinetoTrace& trace) {
  Steps steps{annotations(trace, "ProfilerStep"), Marks::Profiler};
  if (steps.all.empty()) {
    steps.marks = Marks::Optimizer;
    std::int64_t before = 0;
    for (const Step& update : annotations(trace, "Optimizer.step#")) {
      if (update.start < before) continue;  // nested in another one
      steps.all.push_back({before, update.end, update.thread, 0, {}});
      before = update.end;
    }
  }
  if (steps.all.empty()) {
    steps.marks = Marks::None;
    steps.all.push_back({0, std::numeric_limits<std::int64_t>::max(), 0, 0, {}});
  }
  for (const Step& load : annotations(trace, "enumerate(DataLoader)"))
    if (const Id step = steps.at(load.start); step != none) steps.all[step].loading += load.end - load.start;
  return steps;
}

Roots find_roots(KinetoTrace& trace, const Steps& steps, bool communicates) {
  return RootFinder(trace, steps, communicates).run();
}

}  // namespace allreplay::kineto
