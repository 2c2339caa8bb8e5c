#include "sim/plans/schedule/us_byte.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

#include <fmt/format.h>

#include "sim/base/core/random.hpp"
#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/planners.hpp"

namespace allreplay {

UsByteModel::UsByteModel(const Profile& profile, BlockCost cost, Bytes partition)
    : profile_(profile), cost_(std::move(cost)), partition_(partition), ready_(profile.tensors.size()) {
  for (const Gradient& gradient : gradients(profile)) ready_[gradient.tensor] = gradient.ready;
}

// Lines 15-21: the smallest number of partitions that keeps the channel busy for `left`, until the next gradient is
// ready; all of them if they do not suffice. For T = a + b·M this covers Case 1 (one partition, if left < a), Case 2
// (the quotient of Eq. 6, at least 1) and Case 3 (all).
Bytes UsByteModel::merged(TensorId tensor, Bytes sent, Time left) const {
  const Bytes rest = profile_.tensors[tensor].bytes - sent;
  const std::size_t first = sent == 0 ? 1 : 0;
  if (cost_(rest, first) <= left) return rest;
  Bytes low = 1, high = (rest + partition_ - 1) / partition_;
  while (low < high) {
    const Bytes middle = low + (high - low) / 2;
    if (cost_(std::min(rest, middle * partition_), first) >= left)
      high = middle;
    else
      low = middle + 1;
  }
  return std::min(rest, low * partition_);
}

UsByteModel::Schedule UsByteModel::schedule(const Priorities& first, const Priorities& second) const {
  Schedule result;
  std::vector<Operation>& operations = result.operations;
  std::vector<Bytes> sent(profile_.tensors.size(), 0);
  using Entry = std::pair<std::uint32_t, TensorId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> available;  // m_re > 0, by P₁
  TensorId last = static_cast<TensorId>(sent.size());                        // L_old
  Time clock = ready_.back();                                                // τ_ar of the next operation
  const auto send = [&](TensorId tensor, Bytes bytes) {
    operations.push_back({{tensor, sent[tensor], bytes}, clock});
    sent[tensor] += bytes;
    clock = add(clock, cost_of(operations.back().slice));
  };
  for (TensorId tensor = last; tensor-- > 0;) {
    const Time end = ready_[tensor];
    while (clock < end) {
      if (available.empty()) {
        clock = end;
        break;
      }
      const TensorId next = available.top().second;
      if (next == last) {  // extends the previous operation: removes it and chooses its size again (lines 13-14)
        clock = operations.back().start;
        sent[next] -= operations.back().slice.bytes;
        operations.pop_back();
      }
      send(next, merged(next, sent[next], end - clock));
      if (sent[next] == profile_.tensors[next].bytes) available.pop();
      last = next;
    }
    available.push({first[tensor], tensor});
  }
  result.first_phase = operations.size();
  clock = std::max(clock, ready_.front());
  std::vector<TensorId> order(sent.size());
  for (TensorId tensor = 0; tensor < order.size(); ++tensor) order[second[tensor]] = tensor;
  for (const TensorId tensor : order)
    if (sent[tensor] < profile_.tensors[tensor].bytes) send(tensor, profile_.tensors[tensor].bytes - sent[tensor]);
  result.iteration = iteration(operations);
  result.exact = exact_iteration(result);
  return result;
}

// Eq. 11 and 12, with each operation's time for its actual bytes, without Δt.
Time UsByteModel::iteration(const std::vector<Operation>& operations) const {
  std::vector<Time> arrived(profile_.layers.size(), Time(0));
  for (const Operation& operation : operations) {
    Time& gate = arrived[profile_.tensors[operation.slice.tensor].layer];
    gate = std::max(gate, add(operation.start, cost_of(operation.slice)));
  }
  Time clock = profile_.backward();
  for (std::size_t layer = 0; layer < arrived.size(); ++layer)
    clock = add(std::max(clock, arrived[layer]), profile_.layers[layer].forward);
  return clock;
}

// The iteration time without rounding each operation to picoseconds, which could decide a tie. An operation starts when
// the previous one has ended and its tensor (in the second phase, every tensor) is ready.
double UsByteModel::exact_iteration(const Schedule& schedule) const {
  const auto ps = [](Time time) { return static_cast<double>(time.count()); };
  std::vector<double> arrived(profile_.layers.size(), 0);
  double end = 0;
  for (std::size_t i = 0; i < schedule.operations.size(); ++i) {
    const Slice& slice = schedule.operations[i].slice;
    end = std::max(end, ps(i < schedule.first_phase ? ready_[slice.tensor] : ready_.front()));
    end += cost_.seconds(slice.bytes, slice.offset == 0 ? 1 : 0) * 1e12;
    double& gate = arrived[profile_.tensors[slice.tensor].layer];
    gate = std::max(gate, end);
  }
  double clock = ps(profile_.backward());
  for (std::size_t layer = 0; layer < arrived.size(); ++layer)
    clock = std::max(clock, arrived[layer]) + ps(profile_.layers[layer].forward);
  return clock;
}

Priorities UsByteModel::sequential() const {
  Priorities order(ready_.size());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

namespace {

// P₁ with tensor l raised above k <= l. REQUIRES: between k and l no tensor was raised before.
Priorities raised(Priorities order, std::size_t l, std::size_t k) {
  order[l] = order[k];
  for (std::size_t j = k; j < l; ++j) ++order[j];
  return order;
}

}  // namespace

Priorities UsByteModel::greedy() const {
  const Priorities second = sequential();
  Priorities best = second;
  Schedule current = schedule(best, second);
  for (std::size_t l = ready_.size(); l-- > 0;) {
    const auto ours = [&](const Operation& operation) { return operation.slice.tensor == l; };
    const auto end = current.operations.begin() + static_cast<std::ptrdiff_t>(current.first_phase);
    const auto first = std::find_if(current.operations.begin(), end, ours);
    if (first == end) continue;  // sent in the second phase, whatever its priority (lines 11-13)
    // Eq. 13: tensors that become ready while all of l is sent have to wait for it.
    const Time done = add(first->start, cost_(profile_.tensors[l].bytes, 1));
    std::size_t k = l;
    while (k > 0 && ready_[k - 1] < done) --k;
    if (k == l) continue;
    Priorities candidate = raised(best, l, k);
    Schedule changed = schedule(candidate, second);
    if (current.exact - changed.exact <= 1e-12 * current.exact) continue;  // ignores noise
    best = std::move(candidate);
    current = std::move(changed);
    l = k;
  }
  return best;
}

namespace {

Priorities random_order(std::size_t count, std::uint64_t seed, std::uint64_t phase) {
  Priorities order(count);
  std::iota(order.begin(), order.end(), 0u);
  Random random(seed, phase);
  for (std::size_t left = count; left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
  return order;
}

Priorities given_order(const PhaseOrder& given, std::size_t count) {
  Priorities order(count, 0);
  std::vector<bool> listed(count, false);
  for (std::size_t place = 0; place < given.tensors.size(); ++place) {
    const TensorId tensor = given.tensors[place];
    if (tensor >= count || listed[tensor])
      throw InputError(given.place,
                       tensor >= count ? fmt::format("there is no tensor {}", tensor + 1)
                                       : fmt::format("tensor {} is listed twice", tensor + 1),
                       fmt::format("each of 1 to {} once, 1 at the input", count));
    listed[tensor] = true;
    order[tensor] = static_cast<std::uint32_t>(place);
  }
  if (given.tensors.size() != count)
    throw InputError(given.place, fmt::format("{} tensors are listed", given.tensors.size()),
                     fmt::format("each of 1 to {} once, 1 at the input", count));
  return order;
}

Priorities order_of(const PhaseOrder& wanted, const UsByteModel& model, bool first) {
  const Priorities sequential = model.sequential();
  switch (wanted.kind) {
    case PhaseOrder::Kind::Paper:
      return first ? model.greedy() : sequential;
    case PhaseOrder::Kind::Sequential:
      return sequential;
    case PhaseOrder::Kind::Random:
      return random_order(sequential.size(), wanted.seed, first ? 1 : 2);
    case PhaseOrder::Kind::Given:
      return given_order(wanted, sequential.size());
  }
  return sequential;
}

}  // namespace

BucketSchedule schedule_us_byte(const PlanRequest& request) {
  const UsByteModel model(request.profile, request.cost, slice_size(request, bytescheduler_partition));
  const auto schedule = model.schedule(order_of(request.options.first_phase, model, true),
                                       order_of(request.options.second_phase, model, false));
  BucketSchedule draft;
  draft.strategy = "us-byte";
  for (const UsByteModel::Operation& operation : schedule.operations)
    draft.blocks.push_back({{operation.slice}, static_cast<std::int64_t>(draft.blocks.size())});
  draft.order = Order::AsListed;
  draft.barrier = Barrier::Layer;
  return draft;
}

}  // namespace allreplay
