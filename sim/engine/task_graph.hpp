// What is to be done: tasks, and which must end before which may start. Knows nothing of when.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/time.hpp"
#include "sim/core/units.hpp"

namespace allreplay {

using TaskId = std::uint32_t;
using QueueId = std::uint32_t;

struct Task {
  QueueId queue = 0;
  std::int64_t position = 0;  ///< its place among the tasks of its queue; unique there
  std::int64_t priority = 0;  ///< for Order::Priority: smaller goes first
  WireBytes bytes = 0;        ///< what it takes of a window in bytes
  Time duration{0};           ///< how long a Stream needs for it, or its launch; other servers know better
  std::uint32_t call_id = 0;  ///< what it asks for, where its server answers several calls
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

  /// It may start once the first of all that precede it has ended, and need not wait for the last.
  void wait_for_any(TaskId task) { wait_for_any_.push_back(task); }

  /// Lays the edges out for reading. Call once, when all are added.
  void link();

  std::span<const Task> tasks() const { return tasks_; }
  Task& task(TaskId id) { return tasks_[id]; }

  // After link():
  std::span<const TaskId> successors(TaskId id) const {
    return std::span(successors_).subspan(first_[id], first_[id + 1] - first_[id]);
  }
  /// How many others must end before each task may start.
  std::span<const std::uint32_t> needed_counts() const { return needed_; }

  /// How a message calls a task; whoever builds the graph knows.
  std::function<std::string(TaskId)> name = [](TaskId id) { return "task " + std::to_string(id); };

 private:
  struct Edge {
    TaskId before, after;
  };
  std::vector<Task> tasks_;
  std::vector<Edge> edges_;
  std::vector<TaskId> successors_;    // of task 0, of task 1, …
  std::vector<std::uint32_t> first_;  // where each task's successors start
  std::vector<std::uint32_t> needed_;
  std::vector<TaskId> wait_for_any_;
};

}  // namespace allreplay
