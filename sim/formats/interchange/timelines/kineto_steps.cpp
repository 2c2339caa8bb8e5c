#include "sim/formats/interchange/timelines/kineto_steps.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/formats/interchange/importers/kineto_messages.hpp"

namespace allreplay::kineto {

namespace {

constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();

// A kernel, or an operator on a CPU.
struct Piece {
  std::int64_t launch = 0, start = 0, end = 0;
};

struct LaunchedCollective {
  std::int64_t launch = 0;
  Interval ran;
  std::optional<MeasuredCollective> size;
};

// The kernels and spans of a step, by purpose.
struct StepPieces {
  std::vector<Piece> forward, backward;
  std::vector<LaunchedCollective> collectives;
  std::vector<Interval> updates;  // on the CPU: Optimizer.step
  std::vector<Piece> others;      // kernels
};

bool is_sharded(const KinetoTrace& trace, const KinetoSpan& span) {
  return named(trace, span, "FullyShardedDataParallel") || named(trace, span, "fsdp::") || named(trace, span, "FSDP::");
}

bool contains(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// True if a span is a collective in which ranks wait for each other; not a broadcast, which DDP uses before each pass.
bool is_collective(std::string_view name) {
  return (name.starts_with("c10d::") || name.starts_with("nccl:") || name.starts_with("gloo:")) &&
         contains(name, {"reduce", "gather", "all_to_all", "alltoall", "scatter"});
}

class StepReader {
 public:
  explicit StepReader(const Attribution& known)
      : known_(known), pieces_(known.steps.all.size()), firsts_(pieces_.size(), none), lasts_(pieces_.size(), none) {
    for (const Root& root : known.roots.all) backward_.push_back(is_backward(known.trace, root));
    find_forward();
    if (known.trace.kernels.empty())
      take_operators();
    else
      take_kernels();
  }

  std::vector<RankStep> read() const {
    std::vector<RankStep> steps;
    for (Id step = 0; step < pieces_.size(); ++step)
      if (auto one = step_of(step)) steps.push_back(std::move(*one));
    return steps;
  }

  // Returns the name of a collective inside a pass that reduces no gradients, such as SyncBatchNorm's or an all-to-all
  // of experts; empty if there is none. A rank that waits in one for a late rank would seem to compute.
  std::string_view blocking_collective() const {
    std::vector<Interval> backward(pieces_.size(), {never_ns, 0});
    for (std::size_t i = 0; i < known_.roots.all.size(); ++i)
      if (const Root& root = known_.roots.all[i]; backward_[i] && root.step != none)
        backward[root.step] = {std::min(backward[root.step].start, root.start),
                               std::max(backward[root.step].end, root.end)};
    for (const KinetoSpan& span : known_.trace.spans) {
      const Id step = known_.steps.at(span.start);
      const std::string_view name = known_.trace.names.text(span.name);
      if (step == none || !is_collective(name)) continue;
      const bool in_forward = firsts_[step] != none && lasts_[step] != none &&
                              span.start >= known_.root(firsts_[step]).start &&
                              span.start < known_.root(lasts_[step]).end;
      const bool in_backward = span.start >= backward[step].start && span.start < backward[step].end;
      if (in_forward || (in_backward && !contains(name, {"reduce"}))) return name;
    }
    return {};
  }

 private:
  // Finds the roots of the first layer and of the loss of each step: the first root with gradients, and the last one
  // that created a backward node. If the trace lacks these: the first root of DDP's forward pass, or else of the step,
  // and the last one before the backward pass.
  void find_forward() {
    std::vector<std::int64_t> from(pieces_.size(), 0), until(pieces_.size(), never_ns);
    std::vector<Interval> not_layers;
    for (const KinetoSpan& span : known_.trace.spans) {
      const Id step = known_.steps.at(span.start);
      if (step == none || span.kind == KinetoSpan::Kind::CpuOperator) continue;
      if (named(known_.trace, span, "Optimizer.step")) pieces_[step].updates.push_back({span.start, span.end});
      if (named(known_.trace, span, "DistributedDataParallel.forward")) from[step] = span.start;
      if (named(known_.trace, span, "enumerate(DataLoader)") || named(known_.trace, span, "Optimizer."))
        not_layers.push_back({span.start, span.end});
    }
    not_layers = joined(std::move(not_layers));
    const std::vector<Root>& roots = known_.roots.all;
    for (Id i = 0; i < roots.size(); ++i)
      if (backward_[i] && roots[i].step != none) until[roots[i].step] = std::min(until[roots[i].step], roots[i].start);
    for (Id i = 0; i < roots.size(); ++i) {
      const Root& root = roots[i];
      if (root.step == none || root.thread != known_.roots.forward_thread || backward_[i] || root.copies ||
          root.start < from[root.step] || root.start >= until[root.step] ||
          shared_length({root.start, root.start + 1}, not_layers) > 0)
        continue;
      if (firsts_[root.step] == none) firsts_[root.step] = i;
      lasts_[root.step] = i;
    }
    for (Id step = 0; step < pieces_.size(); ++step) {
      const ProfiledIteration& iteration = known_.iterations[step];
      if (iteration.layers.empty()) continue;
      firsts_[step] = iteration.layers.front();
      lasts_[step] = iteration.pass_ends.back();
    }
  }

  void take(Id root_id, const Piece& piece) {
    const Root& root = known_.root(root_id);
    if (root.step == none) return;
    StepPieces& pieces = pieces_[root.step];
    if (backward_[root_id] &&
        (!root.copies || root.outer != none))  // a copy inside a backward node fills a buffer to be communicated
      pieces.backward.push_back(piece);
    else if (!root.copies && root.thread == known_.roots.forward_thread && firsts_[root.step] != none &&
             lasts_[root.step] != none && root_id >= firsts_[root.step] && root_id <= lasts_[root.step])
      pieces.forward.push_back(piece);
  }

  void take_kernels() {
    for (std::size_t i = 0; i < known_.trace.kernels.size(); ++i) {
      const KinetoKernel& kernel = known_.trace.kernels[i];
      const Id root = known_.root_of_kernel[i];
      const Interval ran = interval_of(kernel);
      const Piece piece{known_.launch(i).start, ran.start, ran.end};
      const Id step = known_.step_of(i);
      if (step == none) continue;
      pieces_[step].others.push_back(piece);
      if (kernel.communication) {
        const auto message = known_.trace.messages.find(i);
        pieces_[step].collectives.push_back({piece.launch, ran,
                                             message == known_.trace.messages.end()
                                                 ? std::nullopt
                                                 : measured_collective(message->second, kernel.duration)});
      } else if (root != none) {
        take(root, piece);
      }
    }
  }

  // On a CPU takes operators instead of kernels. A collective "gloo:" outlasts the "c10d::" operator that launches it.
  void take_operators() {
    for (Id i = 0; i < known_.roots.all.size(); ++i) {
      const Root& root = known_.root(i);
      if (root.outer == none) take(i, {root.start, root.start, root.end});
    }
    std::vector<std::vector<Piece>> launches(pieces_.size()), runs(pieces_.size());
    for (const KinetoSpan& span : known_.trace.spans) {
      const Id step = known_.steps.at(span.start);
      if (step == none) continue;
      const std::string& name = known_.trace.names.text(span.name);
      if (name.starts_with("c10d::") && name.find("reduce") != std::string::npos)
        launches[step].push_back({span.start, span.start, span.end});
      if (name.starts_with("gloo:") && name.find("reduce") != std::string::npos)
        runs[step].push_back({span.start, span.start, span.end});
    }
    const auto by_start = [](const Piece& a, const Piece& b) { return a.start < b.start; };
    for (Id step = 0; step < pieces_.size(); ++step) {
      std::sort(launches[step].begin(), launches[step].end(), by_start);
      std::sort(runs[step].begin(), runs[step].end(), by_start);
      const bool outlast_launches = runs[step].size() == launches[step].size();
      const auto& ran = outlast_launches || launches[step].empty() ? runs[step] : launches[step];
      for (std::size_t k = 0; k < ran.size(); ++k)
        pieces_[step].collectives.push_back(
            {outlast_launches ? launches[step][k].launch : ran[k].launch, {ran[k].start, ran[k].end}, {}});
    }
  }

  std::optional<RankStep> step_of(Id step) const {
    StepPieces pieces = pieces_[step];
    if (pieces.forward.empty() || pieces.backward.empty()) return std::nullopt;
    RankStep result{.number = known_.steps.all[step].number.value_or(step)};
    result.forward = around(pieces.forward);
    const std::int64_t first_launch = earliest(pieces.backward);
    std::int64_t update = never_ns;
    for (const Interval& one : pieces.updates)
      if (one.start > first_launch) update = std::min(update, one.start);
    std::erase_if(pieces.collectives,
                  [&](const LaunchedCollective& one) { return one.launch < first_launch || one.launch >= update; });
    std::sort(pieces.collectives.begin(), pieces.collectives.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.launch, a.ran.start) < std::tuple(b.launch, b.ran.start);
    });
    cut_backward(pieces, result);
    for (const LaunchedCollective& one : pieces.collectives) {
      const std::int64_t before = result.collectives.empty() ? one.ran.start : result.collectives.back().end;
      const std::int64_t start = std::max(one.ran.start, before);
      result.collectives.push_back({start, std::max(start, one.ran.end)});
      result.sizes.push_back(one.size);
    }
    find_update(pieces, update, result);
    measure(step, result);
    return result;
  }

  static Interval around(const std::vector<Piece>& pieces) {
    Interval all{pieces.front().start, pieces.front().end};
    for (const Piece& piece : pieces) all = {std::min(all.start, piece.start), std::max(all.end, piece.end)};
    return all;
  }

  static std::int64_t earliest(const std::vector<Piece>& pieces) {
    std::int64_t first = never_ns;
    for (const Piece& piece : pieces) first = std::min(first, piece.launch);
    return first;
  }

  // Cuts the backward pass: on a GPU a part ends with the last kernel launched before its collective.
  void cut_backward(StepPieces& pieces, RankStep& result) const {
    const Interval all = around(pieces.backward);
    std::sort(pieces.backward.begin(), pieces.backward.end(),
              [](const Piece& a, const Piece& b) { return a.launch < b.launch; });
    std::int64_t start = all.start, end = all.start;
    auto piece = pieces.backward.begin();
    for (std::size_t k = 0; k + 1 < pieces.collectives.size(); ++k) {
      const std::int64_t launch = pieces.collectives[k].launch;
      for (; piece != pieces.backward.end() && piece->launch < launch; ++piece) end = std::max(end, piece->end);
      const std::int64_t cut = known_.trace.kernels.empty() ? std::max(start, std::min(end, launch)) : end;
      result.backward.push_back({start, cut});
      start = cut;
    }
    result.backward.push_back({start, std::max(start, all.end)});
  }

  void find_update(const StepPieces& pieces, std::int64_t update, RankStep& result) const {
    if (update == never_ns) return;
    std::int64_t until = update;
    for (const Interval& one : pieces.updates) until = std::max(until, one.end);
    if (known_.trace.kernels.empty()) {
      result.optimizer = {update, until};
      return;
    }
    std::vector<Piece> kernels;
    for (const Piece& piece : pieces.others)
      if (piece.launch >= update && piece.launch < until) kernels.push_back(piece);
    if (!kernels.empty()) result.optimizer = around(kernels);
  }

  void measure(Id step, RankStep& result) const {
    std::vector<Interval> all = result.backward;
    all.push_back(result.forward);
    all.insert(all.end(), result.collectives.begin(), result.collectives.end());
    if (result.optimizer) all.push_back(*result.optimizer);
    all = joined(std::move(all));
    const Step& marked = known_.steps.all[step];
    result.length =
        known_.steps.marks == Marks::Profiler ? marked.end - marked.start : all.back().end - all.front().start;
    result.left_out = std::max<std::int64_t>(0, result.length - length(all));
  }

  const Attribution& known_;
  std::vector<StepPieces> pieces_;  // by step, as the next two
  std::vector<Id> firsts_, lasts_;  // first and last root of the forward pass
  std::vector<bool> backward_;      // by root
};

}  // namespace

std::vector<RankStep> rank_steps(const Attribution& known, const SourceLocation& file) {
  for (const KinetoSpan& span : known.trace.spans)
    if (is_sharded(known.trace, span))
      throw InputError(file, "is of sharded training (FSDP), without a span of a unit's forward pass",
                       "a trace of whole steps");
  for (const ProfiledIteration& iteration : known.iterations)
    if (iteration.micro_batches > 1 && known.steps.marks != Marks::None)
      throw InputError(file, fmt::format("has {} forward and backward passes in a step", iteration.micro_batches),
                       "steps of one pass, without accumulation of gradients");
  const StepReader reader(known);
  if (const std::string_view name = reader.blocking_collective(); !name.empty())
    throw InputError(
        file,
        fmt::format("has collectives inside its passes that do not reduce gradients ({}): a rank that waits in "
                    "them would seem slow",
                    one_line(name, 40)),
        "data-parallel training whose collectives reduce gradients, such as DDP's; `allreplay import` "
        "reads the layers of one rank");
  std::vector<RankStep> steps = reader.read();
  if (steps.empty())
    throw InputError(file, "has no step with a forward and a backward pass", "a trace of training, with its steps");
  return steps;
}

}  // namespace allreplay::kineto
