#include "sim/formats/interchange/timelines/sharded_units.hpp"

#include <algorithm>
#include <compare>
#include <set>
#include <tuple>

namespace allreplay::kineto {

namespace {

constexpr std::string_view fsdp2_hooks = "FSDP::", fsdp1 = "FullyShardedDataParallel.",
                           fsdp1_forward = "FullyShardedDataParallel.forward", deepspeed = "fetch_sub_module";

constexpr std::size_t most_units = 10'000;

bool contains(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

bool is_hook(std::string_view name) {
  return name.starts_with(fsdp2_hooks) || (name.starts_with(fsdp1) && !name.starts_with(fsdp1_forward)) ||
         contains(name, deepspeed);
}

// The module in "FSDP::pre_forward (layers.0)" and "FSDP::backward_prefetch for layers.0"; nothing if it names none.
std::optional<std::string_view> module_in(std::string_view name) {
  if (const std::size_t at = name.find(" ("); at != name.npos && name.ends_with(')'))
    return name.substr(at + 2, name.size() - at - 3);
  if (const std::size_t at = name.find(" for "); at != name.npos) return name.substr(at + 5);
  return std::nullopt;
}

// An outermost operator of a pass: one that creates backward nodes, or runs one.
struct PassRoot {
  std::int64_t start = 0;
  bool backward = false;
  std::int64_t end = 0;
  Id step = none;
  auto operator<=>(const PassRoot&) const = default;
};

// Returns them by start.
std::vector<PassRoot> pass_roots(const Attribution& known) {
  const std::vector<Root>& roots = known.roots.all;
  std::vector<bool> creates(roots.size());
  for (const Root& root : roots)
    if (is_backward(known.trace, root) && root.creator != none) creates[root.creator] = true;
  std::vector<PassRoot> found;
  for (Id i = 0; i < roots.size(); ++i) {
    const Root& root = roots[i];
    const bool backward = is_backward(known.trace, root);
    if (root.step != none && root.outer == none && (backward || creates[i]) && !root.copies)
      found.push_back({root.start, backward, root.end, root.step});
  }
  std::sort(found.begin(), found.end());
  return found;
}

// True if gathers are launched while the passes of a step run.
bool gathers_in_passes(const Attribution& known) {
  std::map<Id, Interval> passes;  // by step
  for (const PassRoot& root : pass_roots(known)) {
    Interval& all = passes.emplace(root.step, Interval{root.start, 0}).first->second;
    if (root.backward) all.end = std::max(all.end, root.end);
  }
  return std::any_of(known.trace.kernels.begin(), known.trace.kernels.end(), [&](const KinetoKernel& kernel) {
    const KinetoLaunch* launch = launch_of(known.trace, kernel.correlation);
    if (kernel.carries != KinetoKernel::Carries::Gather || !launch) return false;
    const auto all = passes.find(known.steps.at(launch->start));
    return all != passes.end() && launch->start > all->second.start && launch->start < all->second.end;
  });
}

}  // namespace

std::optional<UnitMarks> unit_marks(const Attribution& known) {
  bool fsdp1_units = false, deepspeed_units = false;
  for (const KinetoSpan& span : known.trace.spans) {
    const std::string_view name = known.trace.names.text(span.name);
    if (name.starts_with("FSDP::pre_forward")) return UnitMarks::Fsdp2;
    fsdp1_units |= name.starts_with(fsdp1_forward);
    deepspeed_units |= contains(name, deepspeed);
  }
  if (fsdp1_units) return UnitMarks::Fsdp1;
  if (deepspeed_units) return UnitMarks::DeepSpeed;
  const bool reduces = std::any_of(known.trace.kernels.begin(), known.trace.kernels.end(), [](const auto& kernel) {
    return kernel.carries == KinetoKernel::Carries::ReduceScatter;
  });
  if (reduces && gathers_in_passes(known)) return UnitMarks::None;
  return std::nullopt;
}

UnitTimeline::UnitTimeline(const Attribution& known, UnitMarks marks, const std::vector<std::int64_t>& gathers)
    : known_(known), marks_units_(marks) {
  find_passes();
  find_hooks(marks);
  if (marks == UnitMarks::None || marks == UnitMarks::DeepSpeed)
    mark_by_gathers(gathers);
  else
    mark_by_spans(marks);
}

// A backward pass ends before the next forward operator with a backward node.
void UnitTimeline::find_passes() {
  const std::size_t steps = known_.steps.all.size();
  backward_.resize(steps);
  forward_.resize(steps);
  updates_.resize(steps);
  Id before = none;
  bool was_backward = false;
  for (const auto& [start, backward, end, step] : pass_roots(known_)) {
    auto& passes = backward_[step];
    if (backward) {
      if (step != before || !was_backward) passes.push_back({start, end});
      passes.back().end = std::max(passes.back().end, end);
    } else if (step != before || was_backward) {
      forward_[step].push_back(start);
    }
    before = step;
    was_backward = backward;
  }
  for (const KinetoSpan& span : known_.trace.spans) {
    const Id step = known_.steps.at(span.start);
    if (step == none || span.kind == KinetoSpan::Kind::CpuOperator || !named(known_.trace, span, "Optimizer.step") ||
        backward_[step].empty() || span.start < backward_[step].back().start)
      continue;
    auto& update = updates_[step];
    update = update ? Interval{std::min(update->start, span.start), std::max(update->end, span.end)}
                    : Interval{span.start, span.end};
  }
}

Id UnitTimeline::named_unit(std::string_view name) {
  const auto [found, is_new] = numbers_.emplace(name, static_cast<Id>(names_.size()));
  if (is_new) names_.emplace_back(name);
  return found->second;
}

void UnitTimeline::find_hooks(UnitMarks marks) {
  // Units count in the order of their forward passes. The root's spans have no name.
  std::vector<const KinetoSpan*> spans;
  bool are_named = false;
  for (const KinetoSpan& span : known_.trace.spans) {
    const std::string_view name = known_.trace.names.text(span.name);
    if (!is_hook(name)) continue;
    spans.push_back(&span);
    are_named |= module_in(name).has_value();
  }
  std::sort(spans.begin(), spans.end(), [](const KinetoSpan* a, const KinetoSpan* b) {
    return std::tuple(a->start, b->end, a->thread) < std::tuple(b->start, a->end, b->thread);
  });
  const auto unit_in = [&](std::string_view name) -> Id {
    if (!are_named || names_.size() > most_units) return none;
    if (const auto module = module_in(name)) return named_unit(*module);
    return name.starts_with("FSDP::root_") || contains(name, "rate_limiter") ? none : named_unit("");
  };
  std::map<Id, Id> unit_of_name;  // by number of the span's name
  const auto number = [&](const KinetoSpan& span) {
    const auto known = unit_of_name.find(span.name);
    if (known != unit_of_name.end()) return known->second;
    return unit_of_name.emplace(span.name, unit_in(known_.trace.names.text(span.name))).first->second;
  };
  if (marks == UnitMarks::Fsdp2)
    for (const KinetoSpan* span : spans)
      if (named(known_.trace, *span, "FSDP::pre_forward")) number(*span);
  for (const KinetoSpan* span : spans) hooks_.push_back({span->start, span->end, span->thread, number(*span)});
  std::sort(hooks_.begin(), hooks_.end(), [](const HookSpan& a, const HookSpan& b) {
    return std::tuple(a.thread, a.start, b.end) < std::tuple(b.thread, b.start, a.end);
  });
  std::vector<Id> around;
  for (Id i = 0; i < hooks_.size(); ++i) {
    while (!around.empty() &&
           (hooks_[around.back()].thread != hooks_[i].thread || hooks_[around.back()].end <= hooks_[i].start))
      around.pop_back();
    require_bearable_depth(known_.trace, around.size());
    if (!around.empty()) hooks_[i].outer = around.back();
    around.push_back(i);
  }
}

// A unit runs from its pre_forward to its post_forward, minus the units inside it.
void UnitTimeline::mark_by_spans(UnitMarks marks) {
  std::vector<std::tuple<std::int64_t, bool, Id>> events;  // time, opens, unit if named
  for (const KinetoSpan& span : known_.trace.spans) {
    if (span.thread != known_.roots.forward_thread) continue;
    const std::string_view name = known_.trace.names.text(span.name);
    if (marks == UnitMarks::Fsdp1) {
      if (!name.starts_with(fsdp1_forward)) continue;
      events.emplace_back(span.start, true, none);
      events.emplace_back(span.end, false, none);
    } else if (const bool opens = name.starts_with("FSDP::pre_forward");
               opens || name.starts_with("FSDP::post_forward")) {
      const HookSpan* hook = hook_at(span.thread, span.start);
      events.emplace_back(opens ? span.start : span.end, opens, hook ? hook->unit : none);
    }
  }
  std::sort(events.begin(), events.end());
  std::vector<Id> open;
  std::set<Id> ended;
  Id next = 0, step = none;
  std::uint32_t batch = 0;
  std::size_t recomputed = 0;  // passes that are open, of units inside a backward pass
  for (const auto& [time, opens, unit] : events) {
    const Id now = known_.steps.at(time);
    const PassPlace place = now == none ? PassPlace{} : place_of(now, time);
    if (opens && place.pass != PassPlace::Pass::Forward) {
      ++recomputed;
      continue;
    }
    if (opens && (now != step || place.batch != batch)) {
      open.clear();
      recomputed = 0;
      next = 0;
      step = now;
      batch = place.batch;
    }
    if (opens) {
      open.push_back(unit != none ? unit : next++);
      units_ = std::max(units_, std::size_t{open.back()} + 1);
    } else if (recomputed > 0) {
      --recomputed;
      continue;
    } else if (!open.empty()) {
      if (ended.insert(open.back()).second) ended_.push_back(open.back());
      open.pop_back();
    }
    if (!open.empty()) marks_.emplace_back(time, open.back());  // the loss follows the last unit
  }
}

// As many gathers are ahead of the computing as were launched before its first operator.
void UnitTimeline::mark_by_gathers(const std::vector<std::int64_t>& gathers) {
  Id step = none;
  std::uint32_t batch = 0;
  std::vector<std::int64_t> launched;
  std::set<std::pair<Id, std::uint32_t>> gathering;  // step and micro-batch
  gathers_ahead_ = true;
  const auto end_pass = [&] {
    if (launched.empty()) return;
    const std::int64_t first = batch < forward_[step].size() ? forward_[step][batch] : launched.front();
    auto ahead = static_cast<std::size_t>(std::lower_bound(launched.begin(), launched.end(), first) - launched.begin());
    ahead = std::max<std::size_t>(ahead, 1);
    gathers_ahead_ &= ahead == launched.size() && ahead > 1;
    gathering.emplace(step, batch);
    marks_.emplace_back(std::min(first, launched.front()), Id{0});
    for (std::size_t i = ahead; i < launched.size(); ++i)
      marks_.emplace_back(launched[i], static_cast<Id>(i + 1 - ahead));
    units_ = std::max(units_, launched.size());
    launched.clear();
  };
  for (const std::int64_t time : gathers) {
    const Id now = known_.steps.at(time);
    if (now == none) continue;
    const PassPlace place = place_of(now, time);
    if (place.pass != PassPlace::Pass::Forward) continue;
    if (now != step || place.batch != batch) end_pass();
    step = now;
    batch = place.batch;
    launched.push_back(time);
  }
  end_pass();
  for (step = 0; step < forward_.size(); ++step)
    for (batch = 0; batch < forward_[step].size(); ++batch)
      if (!gathering.contains({step, batch})) marks_.emplace_back(forward_[step][batch], Id{0});
  std::sort(marks_.begin(), marks_.end());
}

Id UnitTimeline::backward_unit(std::size_t i, std::size_t count) const {
  return ended_.size() == count ? ended_[count - 1 - i] : static_cast<Id>(count - 1 - i);
}

PassPlace UnitTimeline::place_of(Id step, std::int64_t time) const {
  const std::vector<Interval>& passes = backward_[step];
  const auto begun = std::upper_bound(passes.begin(), passes.end(), time,
                                      [](std::int64_t t, const Interval& pass) { return t < pass.start; });
  const auto batch = static_cast<std::uint32_t>(begun - passes.begin());
  if (batch > 0 && time <= passes[batch - 1].end) return {PassPlace::Pass::Backward, batch - 1};
  if (batch < passes.size()) return {PassPlace::Pass::Forward, batch};
  return {PassPlace::Pass::After, batch == 0 ? 0 : batch - 1};
}

Id UnitTimeline::unit_at(std::int64_t time) const {
  const auto after = std::upper_bound(marks_.begin(), marks_.end(), std::pair(time, none));
  if (after == marks_.begin()) return none;
  const auto& [since, unit] = *std::prev(after);
  return known_.steps.at(since) == known_.steps.at(time) ? unit : none;
}

// The last hook of the thread that started no later; `none` if there is none.
Id UnitTimeline::last_hook(std::uint16_t thread, std::int64_t time) const {
  const auto after = std::upper_bound(
      hooks_.begin(), hooks_.end(), std::pair(thread, time),
      [](const auto& wanted, const HookSpan& hook) { return wanted < std::pair(hook.thread, hook.start); });
  if (after == hooks_.begin() || std::prev(after)->thread != thread) return none;
  return static_cast<Id>(after - hooks_.begin() - 1);
}

const HookSpan* UnitTimeline::hook_at(std::uint16_t thread, std::int64_t time) const {
  Id at = last_hook(thread, time);
  while (at != none && time >= hooks_[at].end) at = hooks_[at].outer;
  return at == none ? nullptr : &hooks_[at];
}

bool UnitTimeline::is_awaited_in_hook(std::uint16_t thread, const Interval& ran) const {
  const HookSpan* hook = hook_at(thread, ran.start);
  while (hook && hook->end < ran.end) hook = hook->outer == none ? nullptr : &hooks_[hook->outer];
  return hook != nullptr;
}

Id UnitTimeline::unit_before(std::uint16_t thread, std::int64_t time) const {
  Id at = last_hook(thread, time);
  while (at != none && hooks_[at].outer != none) at = hooks_[at].outer;
  return at == none ? none : hooks_[at].unit;
}

Id UnitTimeline::unit_of(const HookSpan& hook) const {
  const HookSpan* at = &hook;
  while (at->unit == none && at->outer != none) at = &hooks_[at->outer];
  return at->unit;
}

std::vector<Interval> UnitTimeline::hooks_of(std::uint16_t thread) const {
  std::vector<Interval> all;
  auto hook =
      std::partition_point(hooks_.begin(), hooks_.end(), [thread](const HookSpan& one) { return one.thread < thread; });
  for (; hook != hooks_.end() && hook->thread == thread; ++hook) all.push_back({hook->start, hook->end});
  return joined(std::move(all));
}

std::optional<Interval> UnitTimeline::update_of(Id step) const { return updates_[step]; }

}  // namespace allreplay::kineto
