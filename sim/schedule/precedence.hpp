// Which of many tasks wait for which, by way of others.
#pragma once

#include <cstdint>
#include <vector>

namespace allreplay {

/// Of tasks in no circle. Each task's last one waited for is its parent in a tree, in which ancestors are told at once:
/// chains and fans cost nothing. What does not wait along the tree is looked for, within bounds.
class Precedence {
 public:
  /// `waits`: by task, those that it waits for. `order`: all tasks, each behind those that it waits for.
  /// `most`: how many tasks to look at, in all. REQUIRES: `waits` outlives this.
  Precedence(const std::vector<std::vector<std::uint32_t>>& waits, const std::vector<std::uint32_t>& order,
             std::uint64_t most = 100'000'000);

  /// Whether `task` waits for `other`. False, too, where it would take too long to tell: then tired().
  bool waits(std::uint32_t task, std::uint32_t other);

  /// So many tasks were looked at that no more are.
  bool tired() const { return looked_ > most_; }

 private:
  bool along_tree(std::uint32_t task, std::uint32_t other) const {
    return first_[other] <= first_[task] && first_[task] < first_[other] + size_[other];
  }

  const std::vector<std::vector<std::uint32_t>>& waits_;
  std::vector<std::uint32_t> rank_;          // place in the order
  std::vector<std::uint32_t> first_, size_;  // a task's subtree: so many numbers from this one, its own
  std::vector<std::uint32_t> seen_;          // the question in which a task was looked at last
  std::uint32_t question_ = 0;
  std::uint64_t looked_ = 0, most_;
};

}  // namespace allreplay
