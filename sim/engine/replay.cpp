#include "sim/engine/replay.hpp"

#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/engine/event_queue.hpp"

namespace allreplay {

namespace {

class Replay {
 public:
  Replay(const TaskGraph& graph, std::span<const Resource> resources)
      : graph_(graph), resources_(resources), events_(resources.size()), dirty_(resources.size(), false) {
    for (const Resource& resource : resources) queues_.emplace_back(resource.rule);
    const auto counts = graph.predecessor_counts();
    waiting_.assign(counts.begin(), counts.end());
    timeline_.spans.resize(graph.tasks().size());
  }

  Timeline run() {
    for (TaskId id = 0; id < waiting_.size(); ++id)
      if (waiting_[id] == 0) make_ready(id, Time(0));
    dispatch(Time(0));
    while (const auto instant = events_.next()) {
      settle(*instant);    // every completion of this instant releases its successors
      dispatch(*instant);  // only then do resources choose what to start
    }
    require_all_ended();
    for (const Resource& resource : resources_) timeline_.events += resource.server->events();
    return std::move(timeline_);
  }

 private:
  void settle(Time instant) {
    while (const auto resource = events_.pop(instant)) {
      ++timeline_.events;
      done_.clear();
      resources_[*resource].server->complete(instant, done_);
      for (const TaskId id : done_) {
        timeline_.spans[id].end = instant;
        queues_[*resource].completed(graph_.tasks()[id]);
        ++ended_;
        for (const TaskId successor : graph_.successors(id))
          if (--waiting_[successor] == 0) make_ready(successor, instant);
      }
      touch(*resource);
    }
  }

  void dispatch(Time instant) {
    for (std::vector<ResourceId>& touched : touched_) {
      for (const ResourceId resource : touched) start_admitted(resource, instant);
      touched.clear();
      // Work without duration has ended already: it is settled before a later phase chooses.
      if (events_.next() == instant) return;
    }
  }

  void start_admitted(ResourceId resource, Time instant) {
    dirty_[resource] = false;
    Queue& queue = queues_[resource];
    Server& server = *resources_[resource].server;
    while (queue.admits(graph_, instant)) {
      const TaskId id = queue.pop(graph_);
      timeline_.spans[id].start = instant;
      server.start(id, graph_.tasks()[id], instant);
    }
    events_.schedule(resource, std::min(server.next_completion(), queue.next_admission(graph_, instant)));
  }

  void make_ready(TaskId id, Time instant) {
    const Task& task = graph_.tasks()[id];
    timeline_.spans[id].ready = instant;
    queues_[task.resource].push(id, task, instant);
    touch(task.resource);
  }

  void touch(ResourceId resource) {
    if (dirty_[resource]) return;
    dirty_[resource] = true;
    touched_[static_cast<std::size_t>(resources_[resource].phase)].push_back(resource);
  }

  void require_all_ended() const {
    if (ended_ == waiting_.size()) return;
    for (TaskId id = 0; id < waiting_.size(); ++id)
      if (timeline_.spans[id].start == never)
        throw std::logic_error(fmt::format("{} can never start on '{}': {}", graph_.name(id),
                                           resources_[graph_.tasks()[id].resource].name,
                                           waiting_[id] > 0 ? fmt::format("it waits for {} others", waiting_[id])
                                                            : std::string("its queue does not admit it")));
    throw std::logic_error("a server never ends a task that it started");
  }

  const TaskGraph& graph_;
  std::span<const Resource> resources_;
  EventQueue events_;
  std::vector<Queue> queues_;
  std::vector<std::uint32_t> waiting_;              // predecessors that have not ended, by task
  std::vector<bool> dirty_;                         // whether a resource is among the touched
  std::array<std::vector<ResourceId>, 2> touched_;  // by phase: resources that may have something to start
  std::vector<TaskId> done_;
  std::size_t ended_ = 0;
  Timeline timeline_;
};

}  // namespace

Timeline replay(const TaskGraph& graph, std::span<const Resource> resources) { return Replay(graph, resources).run(); }

}  // namespace allreplay
