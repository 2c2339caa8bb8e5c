#include "sim/plans/schedule/precedence.hpp"

#include <algorithm>

namespace allreplay {

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

}  // namespace allreplay
