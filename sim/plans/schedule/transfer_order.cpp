#include "sim/plans/schedule/transfer_order.hpp"

#include <algorithm>
#include <limits>
#include <variant>

namespace allreplay {

TransferOrder order_of_transfers(const Plan& plan) {
  std::vector<std::size_t> first_work(plan.roles.size() + 1, 0);
  for (std::size_t role = 0; role < plan.roles.size(); ++role)
    first_work[role + 1] = first_work[role] + plan.roles[role].program.size();
  const std::size_t works = first_work.back(), count = works + plan.transfers.size();
  const auto node = [&](const PlanPoint& point) {
    if (const auto* one = std::get_if<TransferPoint>(&point)) return works + one->index;
    const WorkPoint& work = std::get<WorkPoint>(point);
    return first_work[work.role] + work.place;
  };
  std::vector<std::vector<std::size_t>> next(count);
  std::vector<std::size_t> left(count, 0);
  const auto add_edge = [&](std::size_t before, std::size_t after) {
    next[before].push_back(after);
    ++left[after];
  };
  for (const Gate& gate : plan.gates)
    if (!gate.next && !std::holds_alternative<StartPoint>(gate.before)) add_edge(node(gate.before), node(gate.after));
  for (std::size_t role = 0; role < plan.roles.size(); ++role)
    for (std::size_t work = first_work[role] + 1; work < first_work[role + 1]; ++work) add_edge(work - 1, work);
  std::vector<std::optional<std::size_t>> last(plan.lanes.size());
  for (std::size_t index = 0; index < plan.transfers.size(); ++index) {
    const std::uint32_t lane = plan.transfers[index].lane;
    if (plan.lanes[lane].order != Order::AsListed) continue;
    if (last[lane]) add_edge(*last[lane], works + index);
    last[lane] = works + index;
  }
  std::vector<std::size_t> order;  // topological
  for (std::size_t one = 0; one < count; ++one)
    if (left[one] == 0) order.push_back(one);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::size_t after : next[order[i]])
      if (--left[after] == 0) order.push_back(after);
  TransferOrder result;
  for (std::uint32_t index = 0; index < plan.transfers.size() && !result.in_circle; ++index)
    if (left[works + index] > 0) result.in_circle = index;
  for (const std::size_t one : order)
    if (one >= works) result.transfers.push_back(static_cast<std::uint32_t>(one - works));
  return result;
}

TransferGates::TransferGates(const Plan& plan) : waits(plan.transfers.size()), frees(plan.transfers.size()) {
  for (const Gate& gate : plan.gates)
    if (const auto* before = gate.transfer_before(), *after = gate.transfer_after(); before && after && !gate.next) {
      waits[after->index].push_back(before->index);
      frees[before->index].push_back(after->index);
    }
}

TransferBounds::TransferBounds(const Plan& plan, const TransferGates& gates, std::uint32_t role)
    : earliest(plan.transfers.size(), 0),
      latest(plan.transfers.size(), std::numeric_limits<std::size_t>::max()),
      grounded(plan.transfers.size(), false) {
  for (const Gate& gate : plan.gates) {
    const auto *from = gate.work_before(), *to = gate.work_after();
    const auto *sent = gate.transfer_before(), *sends = gate.transfer_after();
    if (sends && !sent && !gate.next) grounded[sends->index] = true;
    if (sends && from && from->role == role && !gate.next)
      earliest[sends->index] = std::max<std::size_t>(earliest[sends->index], from->place + 1);
    if (sent && to && to->role == role)
      latest[sent->index] =
          std::min(latest[sent->index], to->place + (gate.next ? plan.roles[role].program.size() : 0));
  }
  for (const std::uint32_t one : gates.order)
    for (const std::uint32_t before : gates.waits[one]) {
      earliest[one] = std::max(earliest[one], earliest[before]);
      if (grounded[before]) grounded[one] = true;
    }
  for (std::size_t i = gates.order.size(); i-- > 0;)
    for (const std::uint32_t after : gates.frees[gates.order[i]])
      latest[gates.order[i]] = std::min(latest[gates.order[i]], latest[after]);
}

Precedence::Precedence(const std::vector<std::vector<std::uint32_t>>& waits, const std::vector<std::uint32_t>& order,
                       std::uint64_t most)
    : waits_(waits),
      rank_(waits.size()),
      first_(waits.size()),
      size_(waits.size(), 1),
      seen_(waits.size(), 0),
      most_(most) {
  for (std::uint32_t i = 0; i < order.size(); ++i) rank_[order[i]] = i;
  const auto parent_of = [&](std::uint32_t task) {
    const auto last = std::max_element(waits_[task].begin(), waits_[task].end(),
                                       [&](std::uint32_t a, std::uint32_t b) { return rank_[a] < rank_[b]; });
    return last == waits_[task].end() ? nullptr : &*last;
  };
  for (auto task = order.rbegin(); task != order.rend(); ++task)
    if (const std::uint32_t* parent = parent_of(*task)) size_[*parent] += size_[*task];
  std::uint32_t next_root = 0;
  std::vector<std::uint32_t> next_child(waits_.size());
  for (const std::uint32_t task : order) {
    const std::uint32_t* parent = parent_of(task);
    std::uint32_t& next = parent ? next_child[*parent] : next_root;
    first_[task] = next;
    next += size_[task];
    next_child[task] = first_[task] + 1;
  }
}

bool Precedence::waits(std::uint32_t task, std::uint32_t other) {
  if (task == other) return false;
  if (precedes_in_tree(task, other)) return true;
  ++question_;
  std::vector<std::uint32_t> todo{task};
  while (!todo.empty() && !tired()) {
    const std::uint32_t one = todo.back();
    todo.pop_back();
    for (const std::uint32_t earlier : waits_[one]) {
      ++looked_;
      if (seen_[earlier] == question_ || rank_[earlier] < rank_[other]) continue;
      if (precedes_in_tree(earlier, other)) return true;
      seen_[earlier] = question_;
      todo.push_back(earlier);
    }
  }
  return false;
}

namespace {

// Returns the transfers that each one waits for: by gates, and in its lane, if that sends one at a time as listed.
std::vector<std::vector<std::uint32_t>> waits_in_lanes(const Plan& plan, const TransferGates& gates) {
  std::vector<std::vector<std::uint32_t>> waits = gates.waits;
  std::vector<std::optional<std::uint32_t>> last(plan.lanes.size());
  for (std::uint32_t index = 0; index < plan.transfers.size(); ++index) {
    const std::uint32_t lane = plan.transfers[index].lane;
    if (plan.lanes[lane].order != Order::AsListed || plan.lanes[lane].window.count != 1) continue;
    if (last[lane]) waits[index].push_back(*last[lane]);
    last[lane] = index;
  }
  return waits;
}

}  // namespace

TransferPrecedence::TransferPrecedence(const Plan& plan, const TransferGates& gates, const TransferBounds& bounds)
    : plan_(plan), gates_(gates), bounds_(bounds) {}

std::optional<bool> TransferPrecedence::waits(std::uint32_t transfer, std::uint32_t other) {
  const std::vector<std::uint32_t>& direct =
      gates_.waits[transfer];  // the usual case: a gather waits for its reduction
  if (std::find(direct.begin(), direct.end(), other) != direct.end()) return true;
  if (bounds_.latest[other] < bounds_.earliest[transfer]) return true;  // through the program
  if (!precedence_) {
    waits_in_lanes_ = waits_in_lanes(plan_, gates_);
    precedence_.emplace(waits_in_lanes_, gates_.order);
  }
  if (precedence_->waits(transfer, other)) return true;
  return precedence_->tired() ? std::nullopt : std::optional(false);
}

}  // namespace allreplay
