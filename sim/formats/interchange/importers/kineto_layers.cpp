#include "sim/formats/interchange/importers/kineto_layers.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace allreplay::kineto {

namespace {

// True if the layers of a step divide into this many equal parts, with the same layers and gradients, and each part
// starts after all gradients of the previous one. `ready`: when each layer's last gradient became ready.
bool repeats(const Attribution& known, const ProfiledIteration& iteration, std::size_t parts,
             const std::vector<std::int64_t>& ready) {
  const std::size_t each = iteration.layers.size() / parts;
  std::int64_t before = -1;
  for (std::size_t part = 0; part < parts; ++part) {
    if (known.root(iteration.layers[part * each]).start <= before) return false;
    for (std::size_t i = 0; i < each; ++i) {
      const std::size_t layer = part * each + i;
      const Root &root = known.root(iteration.layers[layer]), &first = known.root(iteration.layers[i]);
      if (root.name != first.name || root.module != first.module ||
          iteration.gradients[layer] != iteration.gradients[i])
        return false;
      before = std::max(before, ready[layer]);
    }
  }
  return true;
}

// Returns the number of micro-batches in a step: the largest number of equal parts into which its layers divide.
std::size_t count_micro_batches(const Attribution& known, const ProfiledIteration& iteration,
                                const std::vector<Gradient>& gradients) {
  const std::size_t layers = iteration.layers.size();
  std::vector<std::int64_t> ready(layers, -1);
  for (const Gradient& gradient : gradients) {
    std::int64_t& last = ready[iteration.layer_with(gradient.root)];
    last = std::max(last, gradient.at);
  }
  std::size_t most = 1;
  for (std::size_t parts = 2; parts <= layers; ++parts)
    if (layers % parts == 0 && repeats(known, iteration, parts, ready)) most = parts;
  return most;
}

// Counts the gradients that became ready before those of a later layer of the same micro-batch.
std::int64_t count_reordered(const ProfiledIteration& iteration, const std::vector<Gradient>& gradients) {
  const auto micro_batch = [&](Id root) { return iteration.layer_with(root) / iteration.layers_each(); };
  std::int64_t count = 0;
  for (std::size_t i = 1; i < gradients.size(); ++i)
    count += gradients[i].root > gradients[i - 1].root &&
             micro_batch(gradients[i].root) == micro_batch(gradients[i - 1].root);
  return count;
}

// Returns the layer that a forward root belongs to: the last one that starts no later; none before the first.
std::optional<std::size_t> layer_of(const ProfiledIteration& iteration, Id root) {
  const auto after = std::upper_bound(iteration.layers.begin(), iteration.layers.end(), root);
  if (after == iteration.layers.begin()) return std::nullopt;
  return static_cast<std::size_t>(after - iteration.layers.begin() - 1);
}

// Finds the last root of each micro-batch's forward pass.
void find_pass_ends(Attribution& known) {
  for (ProfiledIteration& iteration : known.iterations)
    for (std::size_t m = 0; m < iteration.micro_batches && !iteration.layers.empty(); ++m)
      iteration.pass_ends.push_back(iteration.layers[(m + 1) * iteration.layers_each() - 1]);
  for (const Root& root : known.roots.all) {
    if (root.step == none || root.creator == none) continue;
    ProfiledIteration& iteration = known.iterations[root.step];
    if (const auto layer = layer_of(iteration, root.creator)) {
      Id& end = iteration.pass_ends[*layer / iteration.layers_each()];
      end = std::max(end, root.creator);
    }
  }
}

// Finds out in which steps the optimizer runs between micro-batches.
void find_updates_each(Attribution& known) {
  for (const Root& root : known.roots.all) {
    if (root.step == none || !root.optimizer) continue;
    ProfiledIteration& iteration = known.iterations[root.step];
    if (iteration.layers.empty()) continue;
    const Id last_pass = iteration.layers[(iteration.micro_batches - 1) * iteration.layers_each()];
    iteration.updates_each |=
        root.start > known.root(iteration.layers.front()).start && root.start < known.root(last_pass).start;
  }
}

// A step's layers are the forward roots that gradients came from.
void find_layers(Attribution& known) {
  known.iterations.resize(known.steps.all.size());
  for (const auto& [step, gradients] : known.roots.gradients) {
    ProfiledIteration& iteration = known.iterations[step];
    std::map<Id, std::vector<Id>> found;  // roots of a thread are in the order of their starts
    for (const Gradient& gradient : gradients) found[gradient.root].push_back(gradient.dims);
    for (const auto& [root, dims] : found) {
      iteration.layers.push_back(root);
      iteration.gradients.push_back(dims);
    }
    iteration.times.resize(iteration.layers.size());
    iteration.micro_batches = count_micro_batches(known, iteration, gradients);
    iteration.reordered = count_reordered(iteration, gradients);
  }
  find_pass_ends(known);
  find_updates_each(known);
}

// For a kernel without external id, returns the root that was running on the thread that launched it.
Id launching_root(const Attribution& known, Id correlation) {
  const KinetoLaunch* launch = launch_of(known.trace, correlation);
  if (!launch) return none;
  const std::vector<Root>& roots = known.roots.all;
  const auto after = std::upper_bound(
      roots.begin(), roots.end(), std::pair(launch->thread, launch->start),
      [](const auto& wanted, const Root& root) { return wanted < std::pair(root.thread, root.start); });
  Id at = after == roots.begin() ? none : static_cast<Id>(after - roots.begin() - 1);
  while (at != none && (roots[at].thread != launch->thread || launch->start >= roots[at].end)) at = roots[at].outer;
  return at;
}

// Adds a kernel's time to its layer, or to its other purpose. `dims`: of the operator that launched it, 0 if only its
// root is known. `overlapped`: the part of its duration during which communication ran.
void add_kernel(Attribution& known, const KinetoKernel& kernel, Id at, Id dims, std::int64_t overlapped) {
  if (at == none) {
    known.unlaunched += kernel.duration;
    return;
  }
  const Root& root = known.root(at);
  if (root.step == none) {
    known.outside += kernel.duration;
    return;
  }
  ProfiledIteration& iteration = known.iterations[root.step];
  const auto elsewhere = [&](Elsewhere where) {
    iteration.elsewhere[static_cast<std::size_t>(where)] += kernel.duration;
  };
  const auto layer_pass = [&](PassTime& pass, Id forward) {
    pass.all += kernel.duration;
    pass.overlapped += overlapped;
    if (known.communicates && kernel.work != 0)
      known.slowdown.add(std::uint64_t{kernel.work} << 32 | (dims != 0 ? dims : known.root(forward).dims),
                         kernel.duration, overlapped);
  };
  if (kernel.communication) return elsewhere(Elsewhere::Communication);
  if (root.optimizer) return elsewhere(Elsewhere::Optimizer);
  if (root.copies || (root.creator != none && known.root(root.creator).copies)) return elsewhere(Elsewhere::Copies);
  if (iteration.layers.empty()) return elsewhere(Elsewhere::Other);
  if (root.backward) {
    if (root.creator == none) return elsewhere(Elsewhere::Unmatched);
    if (root.unmatched) iteration.unmatched += kernel.duration;
    layer_pass(iteration.times[layer_of(iteration, root.creator).value_or(0)].backward, root.creator);
  } else if (root.thread != known.roots.forward_thread) {
    elsewhere(Elsewhere::Other);
  } else if (const auto layer = layer_of(iteration, at)) {
    if (at > iteration.pass_ends[*layer / iteration.layers_each()]) return elsewhere(Elsewhere::Other);
    layer_pass(iteration.times[*layer].forward, at);
  } else {
    elsewhere(Elsewhere::BeforeFirst);
  }
}

using Operators = std::vector<std::pair<Id, Id>>;  // external id, span

// True if operators of another root have the same external id as this one, the first that has it.
bool belongs_to_several_roots(const Attribution& known, const Operators& operators, Operators::const_iterator first) {
  for (auto other = first + 1; other != operators.end() && other->first == first->first; ++other)
    if (known.roots.of_span[other->second] != known.roots.of_span[first->second]) return true;
  return false;
}

void add_kernels(Attribution& known) {
  KinetoTrace& trace = known.trace;
  // Traces of 2022 and 2023 have the correlation id in place of the external id: it may equal another operator's id.
  const bool of_operators = std::any_of(trace.kernels.begin(), trace.kernels.end(), [](const KinetoKernel& kernel) {
    return kernel.external != kernel.correlation;
  });
  Operators operators;
  for (Id i = 0; of_operators && i < trace.spans.size(); ++i)
    if (trace.spans[i].external != 0 && known.roots.of_span[i] != none)
      operators.emplace_back(trace.spans[i].external, i);
  std::sort(operators.begin(), operators.end());
  std::sort(trace.launches.begin(), trace.launches.end(),
            [](const KinetoLaunch& a, const KinetoLaunch& b) { return a.correlation < b.correlation; });
  std::vector<Interval> carried;
  for (const KinetoKernel& kernel : trace.kernels)
    if (kernel.communication) carried.push_back(interval_of(kernel));
  const JoinedIntervals communication(std::move(carried));
  for (const KinetoKernel& kernel : trace.kernels) {
    const auto found = std::lower_bound(operators.begin(), operators.end(), std::pair(kernel.external, Id{0}));
    const bool is_known = kernel.external != 0 && found != operators.end() && found->first == kernel.external;
    known.root_of_kernel.push_back(is_known ? known.roots.of_span[found->second]
                                            : launching_root(known, kernel.correlation));
    known.ambiguous += is_known && belongs_to_several_roots(known, operators, found);
    add_kernel(known, kernel, known.root_of_kernel.back(), is_known ? trace.spans[found->second].dims : 0,
               kernel.communication ? 0 : communication.shared(interval_of(kernel)));
  }
}

}  // namespace

bool Attribution::runs_in(const std::vector<Id>& some, std::size_t kernel) const {
  return std::binary_search(some.begin(), some.end(), step_of(kernel));
}

Id Attribution::step_of(std::size_t kernel) const {
  const Id by = root_of_kernel[kernel];
  if (by != none && root(by).step != none) return root(by).step;
  return steps.at(launch(kernel).start);
}

KinetoLaunch Attribution::launch(std::size_t kernel) const {
  const KinetoKernel& one = trace.kernels[kernel];
  if (const KinetoLaunch* call = launch_of(trace, one.correlation)) return *call;
  if (const Id by = root_of_kernel[kernel]; by != none) return {root(by).start, one.correlation, root(by).thread};
  return {one.start, one.correlation, roots.forward_thread};
}

const KinetoLaunch* launch_of(const KinetoTrace& trace, Id correlation) {
  const auto launch = std::lower_bound(trace.launches.begin(), trace.launches.end(), correlation,
                                       [](const KinetoLaunch& a, Id wanted) { return a.correlation < wanted; });
  return correlation != 0 && launch != trace.launches.end() && launch->correlation == correlation ? &*launch : nullptr;
}

Attribution attributed(KinetoTrace trace) {
  Attribution known{.trace = std::move(trace)};
  known.communicates = known.trace.kernels.empty()
                           ? std::any_of(known.trace.spans.begin(), known.trace.spans.end(),
                                         [&](const KinetoSpan& span) { return named(known.trace, span, "c10d::"); })
                           : std::any_of(known.trace.kernels.begin(), known.trace.kernels.end(),
                                         [](const KinetoKernel& kernel) { return kernel.communication; });
  known.steps = find_steps(known.trace);
  known.roots = find_roots(known.trace, known.steps, known.communicates);
  find_layers(known);
  add_kernels(known);
  return known;
}

}  // namespace allreplay::kineto
