#include "sim/replay/engine/replay.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/replay/engine/replay_loop.hpp"

namespace allreplay {

namespace {

// The Tasks of ReplayLoop that replay a single graph once.
class OneGraph {
 public:
  explicit OneGraph(const TaskGraph& graph) : graph_(graph) {
    const auto counts = graph.needed_counts();
    waiting_.assign(counts.begin(), counts.end());
    timeline_.spans.resize(graph.tasks().size());
  }

  const Task& task(TaskId id) const { return graph_.tasks()[id]; }
  std::int64_t turn(TaskId id) const { return graph_.tasks()[id].position; }

  Time next() const { return begun_ ? never : Time(0); }

  template <class MakeReady>
  void arrive(Time instant, const MakeReady& make_ready) {
    if (std::exchange(begun_, true)) return;
    for (TaskId id = 0; id < waiting_.size(); ++id)
      if (waiting_[id] == 0) {
        timeline_.spans[id].ready = instant;
        make_ready(id);
      }
  }

  void start(TaskId id, Time instant) { timeline_.spans[id].start = instant; }

  template <class MakeReady>
  void end(TaskId id, Time instant, const MakeReady& make_ready) {
    timeline_.spans[id].end = instant;
    ++ended_;
    for (const TaskId successor : graph_.successors(id))
      if (--waiting_[successor] == 0) {
        timeline_.spans[successor].ready = instant;
        make_ready(successor);
      }
  }

  template <class Loop>
  void change(Time /*instant*/, Loop& /*loop*/) const {}
  bool enough(Time /*instant*/, bool /*more*/) const { return false; }

  Timeline take_timeline(std::int64_t events) {
    timeline_.events = events;
    return std::move(timeline_);
  }

  void require_all_ended(const System& system) const {
    if (ended_ == waiting_.size()) return;
    for (TaskId id = 0; id < waiting_.size(); ++id)
      if (timeline_.spans[id].start == never)
        throw Stuck(fmt::format("{} can never start on '{}': {}", graph_.name(id),
                                system.queues[graph_.tasks()[id].queue].name,
                                timeline_.spans[id].ready == never ? fmt::format("it waits for {} others", waiting_[id])
                                                                   : std::string("its queue does not admit it")));
    throw std::logic_error("a server never ends a task that it started");
  }

 private:
  const TaskGraph& graph_;
  std::vector<std::uint32_t> waiting_;  // by task: predecessors that must still end; may wrap below 0
  std::size_t ended_ = 0;
  bool begun_ = false;
  Timeline timeline_;
};

}  // namespace

Timeline replay(const TaskGraph& graph, const System& system) {
  OneGraph tasks(graph);
  const std::int64_t events = ReplayLoop(tasks, system).run();
  tasks.require_all_ended(system);
  return tasks.take_timeline(events);
}

Time covered(std::vector<std::pair<Time, Time>> intervals) {
  std::sort(intervals.begin(), intervals.end());
  Time sum{0}, until{0};
  for (const auto& [start, end] : intervals) {
    const Time from = std::max(start, until);
    if (end <= from) continue;
    sum += end - from;
    until = end;
  }
  return sum;
}

}  // namespace allreplay
