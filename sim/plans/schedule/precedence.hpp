// Answers whether one task waits for another, directly or through others.
#pragma once

#include <cstdint>
#include <vector>

namespace allreplay {

/// Precedence of tasks in an acyclic graph. In a tree, the parent of each task is the last of those that it waits for;
/// ancestors there are found in constant time, which covers chains and fans. Other cases take a search of bounded size.
class Precedence {
 public:
  /// `waits`: by task, the tasks that it waits for. `order`: all tasks in topological order. `most`: tasks that all
  /// searches together may visit. REQUIRES: `waits` outlives this.
  Precedence(const std::vector<std::vector<std::uint32_t>>& waits, const std::vector<std::uint32_t>& order,
             std::uint64_t most = 100'000'000);

  /// True if `task` waits for `other`. Also false if the search was given up; tired() is then true.
  bool waits(std::uint32_t task, std::uint32_t other);

  /// True if the bound has been reached.
  bool tired() const { return looked_ > most_; }

 private:
  bool precedes_in_tree(std::uint32_t task, std::uint32_t other) const {
    return first_[other] <= first_[task] && first_[task] < first_[other] + size_[other];
  }

  const std::vector<std::vector<std::uint32_t>>& waits_;
  std::vector<std::uint32_t> rank_;          // by task: its index in the order
  std::vector<std::uint32_t> first_, size_;  // by task: its number in preorder; size of its subtree
  std::vector<std::uint32_t> seen_;          // by task: the question in which it was last visited
  std::uint32_t question_ = 0;
  std::uint64_t looked_ = 0, most_;
};

}  // namespace allreplay
