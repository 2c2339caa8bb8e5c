// Tells from the spans of a PyTorch trace which unit of a sharded model (FSDP1, FSDP2, DeepSpeed's ZeRO-3) launches
// what, and in which pass. On the host's clock, in nanoseconds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/formats/interchange/importers/kineto_layers.hpp"

namespace allreplay::kineto {

/// A pass of a micro-batch of a step. `After`: after the last backward pass, or outside of all passes.
struct PassPlace {
  enum class Pass : std::uint8_t { Forward, Backward, After };
  Pass pass = Pass::After;
  std::uint32_t batch = 0;
};

/// A span in which a framework gathers, reduces or reshards.
struct HookSpan {
  std::int64_t start = 0, end = 0;
  std::uint16_t thread = 0;
  Id unit = none;   ///< if its name says
  Id outer = none;  ///< index of the span around it
};

/// The framework whose spans distinguish units. `None`: only the gathers do.
enum class UnitMarks : std::uint8_t { Fsdp2, Fsdp1, DeepSpeed, None };

/// The kind of unit spans of a trace; nothing if it is not of sharded training.
std::optional<UnitMarks> unit_marks(const Attribution& known);

class UnitTimeline {
 public:
  /// `gathers`: when all-gathers were launched. REQUIRES: they are in ascending order.
  UnitTimeline(const Attribution& known, UnitMarks marks, const std::vector<std::int64_t>& gathers);

  PassPlace place_of(Id step, std::int64_t time) const;
  /// The unit whose forward pass runs on the host; `none` before the first one.
  Id unit_at(std::int64_t time) const;
  /// The innermost span of the framework; null if there is none.
  const HookSpan* hook_at(std::uint16_t thread, std::int64_t time) const;
  /// The unit that a hook or a hook around it names; `none` if none does.
  Id unit_of(const HookSpan& hook) const;
  /// True if a collective that starts and ends at these times is awaited in the hook that launches it.
  bool is_awaited_in_hook(std::uint16_t thread, const Interval& ran) const;
  /// The unit of the last hook that started on a thread; `none` if it names none.
  Id unit_before(std::uint16_t thread, std::int64_t time) const;
  /// The spans of hooks on a thread, joined.
  std::vector<Interval> hooks_of(std::uint16_t thread) const;
  /// When the updates after the last backward pass of a step run; nothing without any.
  std::optional<Interval> update_of(Id step) const;

  std::size_t units() const { return units_; }
  /// The i-th of `count` units to run backward: the last one whose forward pass ended runs first.
  Id backward_unit(std::size_t i, std::size_t count) const;
  bool has_passes(Id step) const { return !backward_[step].empty(); }
  /// True if all gathers of a forward pass are launched before its first operator, which then waits for all of them.
  bool gathers_ahead() const { return gathers_ahead_; }
  /// The units by name; empty if they have none.
  const std::vector<std::string>& names() const { return names_; }
  /// True if hooks, rather than the kind of a collective, decide which collectives belong to units.
  bool has_hooks() const { return marks_units_ == UnitMarks::Fsdp1 || marks_units_ == UnitMarks::Fsdp2; }

 private:
  Id last_hook(std::uint16_t thread, std::int64_t time) const;
  void find_passes();
  void find_hooks(UnitMarks marks);
  void mark_by_spans(UnitMarks marks);
  void mark_by_gathers(const std::vector<std::int64_t>& gathers);
  Id named_unit(std::string_view name);

  const Attribution& known_;
  UnitMarks marks_units_;
  std::vector<std::vector<Interval>> backward_;     // by step, its backward passes
  std::vector<std::vector<std::int64_t>> forward_;  // by step and micro-batch, the start of its first operator
  std::vector<std::optional<Interval>> updates_;    // by step
  std::vector<HookSpan> hooks_;                     // by thread, then start
  std::vector<std::pair<std::int64_t, Id>> marks_;  // from this time on, this unit
  std::vector<Id> ended_;                           // units, in the order in which their forward passes end
  std::vector<std::string> names_;
  std::map<std::string, Id, std::less<>> numbers_;  // of names_
  std::size_t units_ = 0;
  bool gathers_ahead_ = false;
};

}  // namespace allreplay::kineto
