#include "sim/formats/interchange/importers/kineto_notes.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/formats/interchange/importers/kineto_messages.hpp"

namespace allreplay::kineto {

namespace {

// Returns when kernels of these steps ran: only those of communication, or only all others.
std::vector<Interval> busy(const Attribution& known, const std::vector<Id>& steps, bool communication) {
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < known.trace.kernels.size(); ++i) {
    const KinetoKernel& kernel = known.trace.kernels[i];
    if (kernel.communication == communication && known.runs_in(steps, i)) intervals.push_back(interval_of(kernel));
  }
  return joined(std::move(intervals));
}

std::string steps_note(const Attribution& known, const WholeSteps& steps) {
  if (known.steps.marks == Marks::None) return "the trace has no ProfilerStep: it was taken as one iteration";
  const std::size_t all = known.steps.all.size();
  return fmt::format(
      "times are means over {} of {} steps{}; {}", steps.ids.size(), all,
      known.steps.marks == Marks::Optimizer ? ", which end with Optimizer.step, as there is no ProfilerStep" : "",
      steps.ids.size() == all ? "none was incomplete" : "the others have other layers or lack kernels");
}

// Returns a note on how long steps lasted, and how long the GPU was idle; "" if that is unknown. If Optimizer.step
// marks the steps, the first is left out, since nothing marks its start.
std::string host_note(const Attribution& known, std::vector<Id> steps) {
  if (known.steps.marks == Marks::Optimizer && steps.front() == 0) steps.erase(steps.begin());
  if (known.steps.marks == Marks::None || steps.empty()) return "";
  double lasted = 0, loading = 0;
  for (const Id id : steps) {
    const Step& step = known.steps.all[id];
    lasted += static_cast<double>(step.end - step.start);
    loading += static_cast<double>(step.loading);
  }
  std::vector<Interval> all = busy(known, steps, false);
  const std::vector<Interval> carried = busy(known, steps, true);
  all.insert(all.end(), carried.begin(), carried.end());
  const double idle = lasted - static_cast<double>(length(joined(std::move(all))));
  const auto each = [&](double sum) { return format_duration(sum * 1e-9 / static_cast<double>(steps.size())); };
  return fmt::format("a step lasted {} under the profiler{}{}", each(lasted),
                     idle > 0 ? fmt::format(", and the GPU was idle for {} of it", each(idle)) : "",
                     loading > 0 ? fmt::format("; data loading took {} of CPU time", each(loading)) : "");
}

// Returns the collective of a kernel, from its own arguments or from the annotation around its launch.
std::optional<MeasuredCollective> collective_of(const Attribution& known, std::size_t i, std::span<const Id> annotated,
                                                const SourceLocation& file) {
  const KinetoTrace& trace = known.trace;
  const KinetoKernel& kernel = trace.kernels[i];
  if (const auto message = trace.messages.find(i); message != trace.messages.end())
    return measured_collective(message->second, kernel.duration);
  const KinetoLaunch* launch = launch_of(trace, kernel.correlation);
  if (!launch) return std::nullopt;
  const auto after = std::upper_bound(annotated.begin(), annotated.end(), std::pair(launch->thread, launch->start),
                                      [&](const auto& wanted, Id span) {
                                        return wanted < std::pair(trace.spans[span].thread, trace.spans[span].start);
                                      });
  if (after == annotated.begin()) return std::nullopt;
  const KinetoSpan& span = trace.spans[*std::prev(after)];
  const std::vector<std::int64_t> shape = first_shape(trace.dims.text(span.dims));
  if (span.thread != launch->thread || launch->start >= span.end || shape.empty()) return std::nullopt;
  const std::string type(row_of(span.element).message);
  return measured_collective({trace.names.text(span.name), type, elements_of(shape, file), 0, trace.workers},
                             kernel.duration);
}

// Returns the collectives by start, and the number of those whose kind or size is unknown.
std::pair<std::vector<MeasuredCollective>, std::int64_t> collectives_of(const Attribution& known,
                                                                        const std::vector<Id>& steps,
                                                                        const SourceLocation& file) {
  std::vector<Id> annotated;
  for (Id i = 0; i < known.trace.spans.size(); ++i)
    if (named(known.trace, known.trace.spans[i], "nccl:")) annotated.push_back(i);
  std::vector<std::pair<std::int64_t, MeasuredCollective>> found;
  std::int64_t unknown = 0;
  for (std::size_t i = 0; i < known.trace.kernels.size(); ++i) {
    if (!known.trace.kernels[i].communication || !known.runs_in(steps, i)) continue;
    if (const auto one = collective_of(known, i, annotated, file))
      found.emplace_back(known.trace.kernels[i].start, *one);
    else
      ++unknown;
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<MeasuredCollective> collectives;
  for (auto& [start, one] : found) collectives.push_back(std::move(one));
  return {std::move(collectives), unknown};
}

bool has_span(const KinetoTrace& trace, std::string_view prefix) {
  return std::any_of(trace.spans.begin(), trace.spans.end(),
                     [&](const KinetoSpan& span) { return named(trace, span, prefix); });
}

// Returns the number of ranks over which the optimizer's state is sharded; 1 if it is not, 0 if the number is unknown.
// It is sharded if gradients are reduce-scattered or parameters gathered: at least one byte per parameter and step,
// half of them if elements have two bytes.
std::int64_t shards_of_update(const Attribution& known, const WholeSteps& steps, const Imported& imported) {
  std::map<std::string, std::map<std::int64_t, double>> sent;  // by operation and ranks: bytes
  for (const MeasuredCollective& one : imported.collectives) {
    const bool gathers = one.name == "all-gather";
    sent[one.name][one.workers] +=
        static_cast<double>(one.bytes) * (gathers ? static_cast<double>(std::max<std::int64_t>(one.workers, 1)) : 1);
  }
  double elements = 0;
  for (const Tensor& tensor : imported.profile.tensors) elements += static_cast<double>(tensor.elements);
  for (const auto& [operation, shards] :
       {std::pair("reduce-scatter", true), {"all-reduce", false}, {"all-gather", true}}) {
    double sum = 0;
    std::pair<std::int64_t, double> most{0, 0};
    for (const auto& [ranks, bytes] : sent[operation]) {
      sum += bytes;
      if (bytes > most.second) most = {ranks, bytes};
    }
    if (sum >= elements * static_cast<double>(steps.ids.size())) return shards ? most.first : 1;
  }
  const bool fsdp = has_span(known.trace, "FullyShardedDataParallel") || has_span(known.trace, "FSDP::");
  return fsdp ? std::max<std::int64_t>(known.trace.workers, 0) : 1;
}

// Returns a note on backward nodes that no forward operator created; "" if there are none. Throws InputError at `file`
// if most of the backward time is theirs.
std::string unmatched_note(const Attribution& known, const WholeSteps& steps, const SourceLocation& file) {
  constexpr double most = 0.5;
  const auto counts = [&](const Root& root) {
    return root.unmatched && root.creator != none && std::ranges::binary_search(steps.ids, root.step);
  };
  const auto nodes = std::ranges::count_if(known.roots.all, counts);
  if (nodes == 0) return "";
  double backward = 0, unmatched = 0;
  std::int64_t gradients = 0;
  for (const Id step : steps.ids) {
    unmatched += static_cast<double>(known.iterations[step].unmatched);
    for (const LayerTimes& layer : known.iterations[step].times) backward += static_cast<double>(layer.backward.all);
    gradients += std::ranges::count_if(known.roots.gradients.at(step), &Gradient::unmatched);
  }
  const double share = backward > 0 ? unmatched / backward : 0;
  const std::string with =
      fmt::format("{} whose Sequence number no forward operator of the step has", counted(nodes, "backward operator"));
  if (share > most)
    throw InputError(file, fmt::format("{:.0f} % of the backward time is of {}", 100 * share, with),
                     "a trace of steps with both passes of all layers");
  return fmt::format("{}: their {}, {:.1f} % of the backward time, and {} count towards the layer before them", with,
                     format_duration(unmatched * 1e-9), 100 * share, counted(gradients, "gradient"));
}

}  // namespace

// Recognises PyTorch's checkpoint() with use_reentrant=True by its node; the other variant leaves no name in the trace.
void note_recomputation(const Attribution& known, Imported& imported) {
  if (!has_span(known.trace, "CheckpointFunctionBackward") &&
      !has_span(known.trace, "autograd::engine::evaluate_function: CheckpointFunctionBackward"))
    return;
  imported.profile.recompute = "full";
  imported.notes.emplace_back("activation checkpointing: backward times contain the forward passes that run again");
}

void make_update_whole(const Attribution& known, const WholeSteps& steps, Imported& imported) {
  std::optional<Time>& update = imported.profile.update;
  if (!update) return;
  const std::int64_t shards = shards_of_update(known, steps, imported);
  if (shards == 1) return;
  const std::string measured = format_duration(to_seconds(*update));
  if (shards == 0) {
    imported.notes.push_back(fmt::format(
        "left out: the update, {} for one rank's shard, as the trace does not say how many ranks share it", measured));
    update.reset();
    return;
  }
  update = multiplied(*update, shards);
  imported.notes.push_back(
      fmt::format("the optimizer's state is shared by {} ranks: the update is that of all parameters, {} times {}",
                  shards, shards, measured));
}

std::vector<std::string> notes_on_time(const Attribution& known, const WholeSteps& steps) {
  std::vector<std::string> notes{steps_note(known, steps)};
  const double attributed = steps.mean_us(known, [&](const ProfiledIteration& one) {
    double sum = 0;
    for (const LayerTimes& layer : one.times) sum += steps.time(layer.forward) + steps.time(layer.backward);
    return sum;
  });
  notes.push_back(fmt::format(
      "GPU time of layers: {} an iteration; operators without parameters count towards the layer before them",
      format_duration(attributed * 1e-6)));
  for (std::size_t i = 0; i < elsewhere_count; ++i) {
    const auto where = static_cast<Elsewhere>(i);
    if (const double us = steps.mean_us(known, [&](const ProfiledIteration& one) { return one.in(where); }); us > 0)
      notes.push_back(fmt::format("{}: {} an iteration of {}",
                                  where == Elsewhere::Optimizer ? "the update" : "left out", format_duration(us * 1e-6),
                                  elsewhere_names[i]));
  }
  for (const auto& [time, what] : {std::pair(known.outside, "outside of all steps"),
                                   {known.unlaunched, "in kernels that no recorded operator launched"}})
    if (time > 0)
      notes.push_back(
          fmt::format("left out: {} in the whole trace {}", format_duration(static_cast<double>(time) * 1e-9), what));
  if (std::string host = host_note(known, steps.ids); !host.empty()) notes.push_back(std::move(host));
  if (const auto reordered = known.iterations[steps.ids.front()].reordered; reordered > 0)
    notes.push_back(
        fmt::format("the gradients of {} layers became ready before those of a later layer, as branches allow; "
                    "the profile has them in the order of the forward pass",
                    reordered));
  if (known.trace.used_by.size() > 1)
    notes.push_back(fmt::format("kernels ran on {} devices; their times were added", known.trace.used_by.size()));
  return notes;
}

std::vector<std::string> notes_on_damage(const Attribution& known, const WholeSteps& steps, bool states_precision,
                                         const SourceLocation& file) {
  std::vector<std::string> notes;
  const KinetoTrace& trace = known.trace;
  if (std::string unmatched = unmatched_note(known, steps, file); !unmatched.empty())
    notes.push_back(std::move(unmatched));
  std::int64_t lost = 0;
  for (const auto& [step, count] : known.roots.lost) lost += std::ranges::binary_search(steps.ids, step) ? count : 0;
  if (lost > 0)
    notes.push_back(
        fmt::format("left out: the parameters of {} without a forward operator", counted(lost, "gradient")));
  if (known.ambiguous > 0)
    notes.push_back(fmt::format("{} with an External id of several operators count{} towards the first of these",
                                counted(known.ambiguous, "kernel"), known.ambiguous == 1 ? "s" : ""));
  for (const auto& [count, what] : {std::pair(trace.partial_kernels, "kernel"), {trace.partial_operators, "operator"}})
    if (count > 0)
      notes.push_back(
          fmt::format("left out: {} of a phase other than \"X\", so without a duration", counted(count, what)));
  if (!trace.unknown_type.empty() && !states_precision)
    notes.push_back(
        fmt::format("the type of a gradient, '{}', is unknown: tensors have the size of {}; --precision "
                    "sets another",
                    trace.unknown_type, row_of(known.roots.element).precision));
  return notes;
}

void add_communication(const Attribution& known, const WholeSteps& steps, const SourceLocation& file,
                       Imported& imported) {
  auto [collectives, unknown] = collectives_of(known, steps.ids, file);
  const std::vector<Interval> carried = busy(known, steps.ids, true);
  const std::int64_t hidden = shared_length(busy(known, steps.ids, false), carried);
  const auto each = [&](std::int64_t sum) {
    return format_duration(static_cast<double>(sum) * 1e-9 / static_cast<double>(steps.ids.size()));
  };
  if (length(carried) > 0)
    imported.notes.push_back(
        fmt::format("communication ran for {} an iteration, {} of it during computation, including waits for other "
                    "ranks; {} collectives of known size in these steps{} (--communication-out)",
                    each(length(carried)), each(hidden), collectives.size(),
                    unknown > 0 ? fmt::format(", and {} others", unknown) : ""));
  imported.collectives = std::move(collectives);
  if (const auto& slowdown = steps.slowdown; slowdown && slowdown->factor > 1)
    imported.notes.push_back(fmt::format(
        "subtracted: the slow-down of computation by communication, {:.3f} times, as \"interference\": {{\"compute\": "
        "{:.3f}}} in a cluster file ({} kernels of {} kinds ran both with it and without: {:.0f} % of the time with "
        "it)",
        slowdown->factor, slowdown->factor, slowdown->pieces, slowdown->kinds, slowdown->covered * 100));
  else if (hidden > 0)
    imported.notes.push_back(
        slowdown ? fmt::format("computation was not slowed down by communication: {:.3f} times its time without",
                               slowdown->factor)
                 : "how much communication slows computation cannot be determined: too little of the same work ran "
                   "both with communication and without");
}

std::vector<std::int64_t> first_shape(const std::string& dims) {
  std::vector<std::int64_t> shape;
  const char* at = dims.data();
  const char* end = dims.data() + std::min(dims.find(';'), dims.size());
  while (at < end) {
    std::int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 0 || (next != end && *next != 'x')) return {};
    shape.push_back(extent);
    at = next == end ? end : next + 1;
  }
  return shape;
}

std::int64_t elements_of(const std::vector<std::int64_t>& shape, const SourceLocation& file) {
  double count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<double>(extent);
  return parameter_count(count, file);
}

}  // namespace allreplay::kineto
