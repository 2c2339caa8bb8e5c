// A directed graph of tasks and their precedences, without times of start and end.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/core/time.hpp"
#include "sim/base/core/units.hpp"

namespace allreplay {

using TaskId = std::uint32_t;
using QueueId = std::uint32_t;

struct Task {
  QueueId queue = 0;
  std::int64_t position = 0;  ///< its place among the tasks of its queue; unique there
  std::int64_t priority = 0;  ///< for Order::Priority: smaller starts first
  WireBytes bytes = 0;        ///< counted against Window::bytes
  Time duration{0};           ///< for a Stream, its duration; for a network, its launch overhead
  std::uint32_t call_id = 0;  ///< for a network, the number of its Call; for a Clock, its first tick
};

/// A directed acyclic graph of tasks. Task ids count from 0 in the order of add().
class TaskGraph {
 public:
  void reserve(std::size_t tasks, std::size_t edges) {
    tasks_.reserve(tasks);
    edges_.reserve(edges);
  }

  TaskId add(const Task& task) {
    tasks_.push_back(task);
    return static_cast<TaskId>(tasks_.size() - 1);
  }

  /// `after` may start once `before` has ended. REQUIRES: both were added, and link() has not been called.
  void precede(TaskId before, TaskId after) { edges_.push_back({before, after}); }

  /// `task` may start once any one of its predecessors has ended.
  void wait_for_any(TaskId task) { wait_for_any_.push_back(task); }

  /// Prepares the edges for reading. Call once, after the last precede().
  void link();

  std::span<const Task> tasks() const { return tasks_; }
  Task& task(TaskId id) { return tasks_[id]; }

  // After link():
  std::span<const TaskId> successors(TaskId id) const {
    return std::span(successors_).subspan(first_[id], first_[id + 1] - first_[id]);
  }
  /// By task: the number of predecessors that must end before it may start.
  std::span<const std::uint32_t> needed_counts() const { return needed_; }

  /// The name of a task in error messages; set by the builder of the graph.
  std::function<std::string(TaskId)> name = [](TaskId id) { return "task " + std::to_string(id); };

 private:
  struct Edge {
    TaskId before, after;
  };
  std::vector<Task> tasks_;
  std::vector<Edge> edges_;
  std::vector<TaskId> successors_;    // the successors of task 0, of task 1, …
  std::vector<std::uint32_t> first_;  // by task: the index of its first successor
  std::vector<std::uint32_t> needed_;
  std::vector<TaskId> wait_for_any_;
};

}  // namespace allreplay
