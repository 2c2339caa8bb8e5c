#include "sim/formats/interchange/timelines/sharded_steps.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/formats/interchange/importers/kineto_messages.hpp"

namespace allreplay::kineto {

namespace {

using Carries = KinetoKernel::Carries;
using Pass = PassPlace::Pass;

constexpr auto what_to_record =
    "traces of all ranks with record_shapes=True, by PyTorch 2.4 or later, which name the "
    "ranks of each process group";

constexpr std::uint16_t cpu_stream = 1;  // for the computes of a thread, and for collectives that block it

// A kernel of the compute stream or, on a CPU, an operator.
struct ComputePiece {
  Interval ran;
  Pass pass = Pass::Forward;
  std::uint32_t batch = 0;
  Id unit = none;
};

struct CollectivePiece {
  std::int64_t launch = 0;
  Interval ran;
  Carries carries = Carries::Other;
  std::uint16_t thread = 0, stream = 0;
  const KinetoMessage* message = nullptr;
};

struct StepParts {
  std::vector<ComputePiece> computes, tails;  // tails: launched after the backward pass, before or in the update
  std::vector<CollectivePiece> collectives;
  std::vector<Interval> waits;     // on a CPU, in hooks
  std::optional<Interval> update;  // on a CPU
};

class ShardedReader {
 public:
  ShardedReader(const Attribution& known, UnitMarks marks, std::int64_t ranks, const SourceLocation& file)
      : known_(known),
        ranks_(ranks),
        file_(file),
        parts_(known.steps.all.size()),
        all_(collectives()),
        units_(known, marks, gather_launches()) {
    for (const CollectivePiece& one : all_)
      if (const Id step = known_.steps.at(one.launch); step != none) {
        parts_[step].collectives.push_back(one);
        if (known_.trace.kernels.empty() && units_.is_awaited_in_hook(one.thread, one.ran))
          parts_[step].collectives.back().stream = cpu_stream;
        const PassPlace place = units_.place_of(step, one.launch);
        if (one.carries == Carries::ReduceScatter && place.pass != Pass::Forward)
          reductions_[{step, place.batch}].push_back(one.launch);
      }
    if (known.trace.kernels.empty())
      take_operators();
    else
      take_kernels();
  }

  ShardedTrace read() {
    ShardedTrace rank;
    rank.file = file_.file;
    rank.unit_names = units_.names();
    rank.precision = precision();
    for (Id step = 0; step < parts_.size(); ++step) {
      if (!units_.has_passes(step)) continue;
      ShardedRankStep one{.number = known_.steps.all[step].number.value_or(step), .ops = ops_of(step)};
      const auto has = [&](auto is_kind) {
        return std::any_of(one.ops.begin(), one.ops.end(), [&](const ShardedOp& op) { return is_kind(op.kind); });
      };
      if (has([](OpKind kind) { return kind == OpKind::ForwardCompute; }) &&
          has([](OpKind kind) { return kind == OpKind::BackwardCompute; }) &&
          has([](OpKind kind) { return is_gather(kind) || is_unit_reduction(kind); }))
        rank.steps.push_back(std::move(one));
    }
    if (rank.steps.empty())
      throw InputError(file_,
                       "is of sharded training, but has no step with computing in both passes and gathers or "
                       "reductions of its units",
                       "a trace of whole steps: profiler.step() after each, ProfilerActivity.CPU and, on GPUs, CUDA");
    return rank;
  }

 private:
  std::vector<CollectivePiece> collectives() const {
    std::vector<CollectivePiece> found;
    for (std::size_t i = 0; i < known_.trace.kernels.size(); ++i) {
      const KinetoKernel& kernel = known_.trace.kernels[i];
      if (!kernel.communication) continue;
      const KinetoLaunch launch = known_.launch(i);
      const auto message = known_.trace.messages.find(i);
      found.push_back({launch.start, interval_of(kernel), kernel.carries, launch.thread, kernel.stream,
                       message == known_.trace.messages.end() ? nullptr : &message->second});
    }
    if (known_.trace.kernels.empty())
      for (const KinetoSpan& span : known_.trace.spans) {
        const std::string& name = known_.trace.names.text(span.name);
        if (!name.starts_with("gloo:")) continue;
        found.push_back({span.start, {span.start, span.end}, carried_by(name), known_.roots.forward_thread});
      }
    std::sort(found.begin(), found.end(), [](const CollectivePiece& a, const CollectivePiece& b) {
      return std::tuple(a.launch, a.ran.start) < std::tuple(b.launch, b.ran.start);
    });
    return found;
  }

  std::vector<std::int64_t> gather_launches() const {
    std::vector<std::int64_t> times;
    for (const CollectivePiece& one : all_)
      if (one.carries == Carries::Gather) times.push_back(one.launch);
    return times;
  }

  // Gathers of bytes have parameters of any type: then that of the operators counts.
  std::string precision() const {
    for (const CollectivePiece& one : all_)
      if (one.carries == Carries::Gather && one.message)
        for (const ElementRow& row : element_rows)
          if (!row.message.empty() && one.message->type == row.message) return std::string(row.precision);
    return std::string(row_of(known_.roots.element).precision);
  }

  // The stream with most time in kernels that do not communicate.
  std::uint16_t compute_stream() const {
    std::map<std::uint16_t, std::int64_t> busy;
    for (const KinetoKernel& kernel : known_.trace.kernels)
      if (!kernel.communication) busy[kernel.stream] += kernel.duration;
    const auto most =
        std::max_element(busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == busy.end() ? std::uint16_t{0} : most->first;
  }

  // Returns the unit to which an operator's launches belong: that of the hook around it, or of the forward operator
  // whose node it runs. Without hooks, units that each have a reduction end with its launch.
  Id unit_of(Id step, std::uint32_t batch, Id root_id, std::uint16_t thread, std::int64_t at, Pass pass) const {
    if (const HookSpan* hook = units_.hook_at(thread, at))
      if (const Id unit = units_.unit_of(*hook); unit != none) return unit;
    if (pass == Pass::Forward) return units_.unit_at(at);
    if (const auto cuts = reductions_.find({step, batch}); !units_.has_hooks() && pass == Pass::Backward &&
                                                           cuts != reductions_.end() &&
                                                           cuts->second.size() == units_.units()) {
      const auto& launches = cuts->second;
      const auto reduced = std::lower_bound(launches.begin(), launches.end(), at) - launches.begin();
      return static_cast<Id>(std::max<std::ptrdiff_t>(0, std::ssize(launches) - 1 - reduced));
    }
    for (Id id = root_id; id != none; id = known_.root(id).outer)
      if (const Id creator = known_.root(id).creator; creator != none)
        return units_.unit_at(known_.root(creator).start);
    return units_.unit_before(thread, at);
  }

  void take(Id step, Id root, std::uint16_t thread, std::int64_t at, const Interval& ran) {
    const PassPlace place = units_.place_of(step, at);
    if (place.pass == Pass::Forward && thread != known_.roots.forward_thread) return;
    ComputePiece piece{ran, place.pass, place.batch, unit_of(step, place.batch, root, thread, at, place.pass)};
    if (place.pass != Pass::After) {
      parts_[step].computes.push_back(piece);
    } else if (const auto update = units_.update_of(step); update && at < update->end) {
      piece.unit = at < update->start ? none : 0;
      parts_[step].tails.push_back(piece);
    }
  }

  void take_kernels() {
    const std::uint16_t stream = compute_stream();
    for (std::size_t i = 0; i < known_.trace.kernels.size(); ++i) {
      const KinetoKernel& kernel = known_.trace.kernels[i];
      if (kernel.communication || kernel.stream != stream) continue;
      const Id root = known_.root_of_kernel[i];
      if (root == none && !launch_of(known_.trace, kernel.correlation)) continue;
      const KinetoLaunch launch = known_.launch(i);
      if (const Id step = known_.steps.at(launch.start); step != none)
        take(step, root, launch.thread, launch.start, interval_of(kernel));
    }
  }

  // On a CPU operators take time, except for the hooks inside them, which wait for collectives.
  void take_operators() {
    std::map<std::uint16_t, std::vector<Interval>> hooks;
    for (Id i = 0; i < known_.roots.all.size(); ++i) {
      const Root& root = known_.root(i);
      if (root.outer != none || root.copies || root.step == none) continue;
      const auto known = hooks.find(root.thread);
      const std::vector<Interval>& waits =
          known != hooks.end() ? known->second : hooks.emplace(root.thread, units_.hooks_of(root.thread)).first->second;
      std::int64_t from = root.start;
      auto wait = std::lower_bound(waits.begin(), waits.end(), root.start,
                                   [](const Interval& one, std::int64_t start) { return one.end <= start; });
      for (; wait != waits.end() && wait->start < root.end; ++wait) {
        if (wait->start > from) take(root.step, i, root.thread, from, {from, wait->start});
        from = std::max(from, wait->end);
      }
      if (from < root.end) take(root.step, i, root.thread, from, {from, root.end});
    }
    for (Id step = 0; step < parts_.size(); ++step) parts_[step].update = units_.update_of(step);
    for (const auto& [thread, waits] : hooks)
      for (const Interval& wait : waits)
        if (const Id step = known_.steps.at(wait.start); step != none) parts_[step].waits.push_back(wait);
  }

  // ---- a step -------------------------------------------------------------------------------------------------------

  using Ops = std::map<std::tuple<OpKind, std::uint32_t, std::uint32_t, std::uint16_t>, ShardedOp>;

  std::vector<ShardedOp> ops_of(Id step) const {
    StepParts parts = parts_[step];
    Ops ops;
    std::vector<Interval> others;
    add_collectives(step, parts.collectives, ops, others);
    if (known_.trace.kernels.empty())  // what waits in a hook does not compute
      others.insert(others.end(), parts.waits.begin(), parts.waits.end());
    std::sort(others.begin(), others.end(), [](const Interval& a, const Interval& b) { return a.start < b.start; });
    if (step > 0) add_early_gathers(parts_[step - 1].collectives, step - 1, ops);
    add_computes(std::move(parts.computes), others, ops);
    add_update(parts, others, ops);
    std::vector<ShardedOp> list;
    for (auto& [key, op] : ops) {
      if (is_compute(op.kind) && known_.trace.kernels.empty()) op.stream = cpu_stream;
      list.push_back(std::move(op));
    }
    return list;
  }

  // Collectives of a kind, pass and unit are one op, from the first one's start to the last one's end.
  static void add(ShardedOp op, Ops& ops) {
    const auto [known, is_new] = ops.emplace(op.key(), op);
    if (is_new) return;
    known->second.ran = {std::min(known->second.ran.start, op.ran.start), std::max(known->second.ran.end, op.ran.end)};
    known->second.bytes = known->second.bytes > 0 && op.bytes > 0 ? known->second.bytes + op.bytes : 0;
  }

  ShardedOp op_of(const CollectivePiece& one, OpKind kind, Id unit, std::uint32_t batch) const {
    ShardedOp op{.kind = kind, .unit = unit, .batch = batch, .ran = one.ran, .stream = one.stream};
    op.ran.end = std::max(op.ran.start, op.ran.end);
    if (!one.message) return op;
    op.bytes = whole_bytes(*one.message);
    op.workers = std::max<std::int64_t>(0, one.message->workers);
    const std::string &ranks = known_.trace.names.text(one.message->ranks),
                      &name = known_.trace.names.text(one.message->group);
    if (op.workers == ranks_ && known_.trace.workers <= ranks_) return op;  // all
    if (!ranks.empty() && ranks.find('.') == ranks.npos)
      op.group = ranks;
    else if (!ranks.empty() && !name.empty())
      op.group = "process group " + name;  // its ranks are too many to be written out
    else if (op.workers > 0)
      throw InputError(file_,
                       fmt::format("does not name the ranks of the process group {}of {} ranks",
                                   name.empty() ? "" : "'" + one_line(name, 40) + "' ", op.workers),
                       what_to_record);
    return op;
  }

  // Returns the kind of a unit's collective; nothing if it belongs to no unit.
  std::optional<OpKind> unit_kind(const CollectivePiece& one, const HookSpan* hook, Pass pass) const {
    if (units_.has_hooks() && !hook) return std::nullopt;
    switch (one.carries) {
      case Carries::Gather:
        return pass == Pass::Backward ? OpKind::UnitBackwardGather : OpKind::UnitForwardGather;
      case Carries::ReduceScatter:
        return pass == Pass::Forward ? std::nullopt : std::optional(OpKind::UnitReduce);
      case Carries::AllReduce:
        return hook && pass != Pass::Forward ? std::optional(OpKind::UnitReplicate) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  // Collectives whose units have no names belong to the units in order: forward gathers first to last, backward gathers
  // and reductions last to first. Units that are kept from the forward pass are the first of the backward one.
  void add_collectives(Id step, const std::vector<CollectivePiece>& pieces, Ops& ops,
                       std::vector<Interval>& others) const {
    struct UnitPiece {
      const CollectivePiece* piece;
      OpKind kind;
      std::uint32_t batch;
      std::size_t number;  // among those of this kind and micro-batch
    };
    std::vector<UnitPiece> unnamed;
    std::map<std::pair<OpKind, std::uint32_t>, std::size_t> counts;
    std::uint32_t other = 0;
    for (const CollectivePiece& one : pieces) {
      const PassPlace place = units_.place_of(step, one.launch);
      const HookSpan* hook = units_.hook_at(one.thread, one.launch);
      const auto kind = unit_kind(one, hook, place.pass);
      if (!kind) {
        refuse_pipeline(one);
        add(op_of(one, OpKind::OtherCollective, other++, 0), ops);
        others.push_back(one.ran);
      } else if (is_gather(*kind) && place.pass == Pass::After) {
        continue;  // of the next step
      } else if (const Id unit = hook ? units_.unit_of(*hook) : none; unit != none) {
        add(op_of(one, *kind, unit, place.batch), ops);
      } else {
        unnamed.push_back({&one, *kind, place.batch, counts[{*kind, place.batch}]++});
      }
    }
    for (const UnitPiece& one : unnamed) {
      const std::size_t count = counts[{one.kind, one.batch}];
      const std::size_t units = std::max(units_.units(), count);
      const std::size_t kept = one.kind == OpKind::UnitBackwardGather ? units - count : 0;
      const std::size_t forward = units_.gathers_ahead() ? 0 : one.number;
      const Id unit = one.kind == OpKind::UnitForwardGather    ? static_cast<Id>(forward)
                      : one.kind == OpKind::UnitBackwardGather ? units_.backward_unit(kept + one.number, units)
                                                               : static_cast<Id>(units - 1 - one.number);
      add(op_of(*one.piece, one.kind, unit, one.batch), ops);
    }
  }

  // Gathers after the update belong to the next step's first forward pass.
  void add_early_gathers(const std::vector<CollectivePiece>& pieces, Id step, Ops& ops) const {
    if (!units_.has_passes(step)) return;
    Id unit = 0;
    for (const CollectivePiece& one : pieces) {
      if (one.carries != Carries::Gather || units_.place_of(step, one.launch).pass != Pass::After) continue;
      const HookSpan* hook = units_.hook_at(one.thread, one.launch);
      if (units_.has_hooks() && !hook) continue;
      const Id named = hook ? units_.unit_of(*hook) : none;
      add(op_of(one, OpKind::UnitForwardGather, named != none ? named : units_.gathers_ahead() ? 0 : unit++, 0), ops);
    }
  }

  void refuse_pipeline(const CollectivePiece& one) const {
    if (one.message && (one.message->collective.starts_with("send") || one.message->collective.starts_with("recv")))
      throw InputError(file_, "has sends between pipeline ranks", "a sharded job without pipeline parallelism");
  }

  // True if a collective runs between two kernels, so that the second may have waited for it.
  static bool runs_between(const Interval& before, const Interval& after, const std::vector<Interval>& others) {
    for (auto other = std::lower_bound(others.begin(), others.end(), before.end,
                                       [](const Interval&one, std::int64_t time) { return one.start < time; });
         other != others.end() && other->start < after.start; ++other)
      if (other->end <= after.start) return true;
    return false;
  }

  // Pieces of a unit in a row are one op; other units and other collectives interrupt it.
  static void add_computes(std::vector<ComputePiece> pieces, const std::vector<Interval>& others, Ops& ops) {
    std::sort(pieces.begin(), pieces.end(), [](const ComputePiece& a, const ComputePiece& b) {
      return std::tuple(a.ran.start, a.ran.end) < std::tuple(b.ran.start, b.ran.end);
    });
    std::map<std::tuple<Pass, std::uint32_t, Id>, std::uint16_t> parts;
    const ComputePiece* before = nullptr;
    Interval ran;
    const auto end_op = [&] {
      if (!before || before->unit == none) return;
      const std::uint16_t part = parts[{before->pass, before->batch, before->unit}]++;
      add({.kind = before->pass == Pass::Forward ? OpKind::ForwardCompute : OpKind::BackwardCompute,
           .unit = before->unit,
           .batch = before->batch,
           .part = part,
           .ran = ran},
          ops);
    };
    for (ComputePiece& piece : pieces) {
      const bool same_pass = before && before->pass == piece.pass && before->batch == piece.batch;
      if (piece.unit == none && same_pass) piece.unit = before->unit;
      if (same_pass && before->unit == piece.unit && !runs_between(ran, piece.ran, others)) {
        ran.end = std::max(ran.end, piece.ran.end);
      } else {
        end_op();
        ran = before ? Interval{std::max(piece.ran.start, ran.end), std::max(piece.ran.end, ran.end)} : piece.ran;
      }
      before = &piece;
    }
    end_op();
  }

  // The update: all launches of its spans, and everything after the last reduction, such as the clipping of gradients.
  static void add_update(StepParts& parts, const std::vector<Interval>& others, Ops& ops) {
    std::int64_t reduced = 0;
    for (const auto& [key, op] : ops)
      if (is_unit_reduction(op.kind)) reduced = std::max(reduced, op.ran.end);
    std::vector<Interval> pieces;
    for (const ComputePiece& piece : parts.tails)
      if (piece.unit != none || piece.ran.start >= reduced) pieces.push_back(piece.ran);
    if (parts.update) pieces = {*parts.update};
    std::sort(pieces.begin(), pieces.end(), [](const Interval& a, const Interval& b) { return a.start < b.start; });
    std::optional<Interval> ran;
    std::uint16_t part = 0;
    for (const Interval& piece : pieces) {
      if (ran && runs_between(*ran, piece, others)) {
        add({.kind = OpKind::Optimizer, .part = part++, .ran = *ran}, ops);
        ran.reset();
      }
      ran = ran ? Interval{ran->start, std::max(ran->end, piece.end)} : piece;
    }
    if (ran) add({.kind = OpKind::Optimizer, .part = part, .ran = *ran}, ops);
  }

  const Attribution& known_;
  std::int64_t ranks_;
  const SourceLocation& file_;
  std::vector<StepParts> parts_;                                                  // by step
  std::map<std::pair<Id, std::uint32_t>, std::vector<std::int64_t>> reductions_;  // launches by step and micro-batch
  std::vector<CollectivePiece> all_;
  UnitTimeline units_;
};

}  // namespace

ShardedTrace sharded_steps(const Attribution& known, UnitMarks marks, std::int64_t ranks, const SourceLocation& file) {
  return ShardedReader(known, marks, ranks, file).read();
}

}  // namespace allreplay::kineto
