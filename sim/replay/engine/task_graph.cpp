#include "sim/replay/engine/task_graph.hpp"

#include <algorithm>
#include <numeric>

namespace allreplay {

void TaskGraph::link() {
  first_.assign(tasks_.size() + 1, 0);
  needed_.assign(tasks_.size(), 0);
  for (const Edge& edge : edges_) {
    ++first_[edge.before + 1];
    ++needed_[edge.after];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  successors_.resize(edges_.size());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (const Edge& edge : edges_) successors_[next[edge.before]++] = edge.after;
  for (const TaskId task : wait_for_any_) needed_[task] = std::min(needed_[task], std::uint32_t{1});
  edges_.clear();
  edges_.shrink_to_fit();
}

}  // namespace allreplay
