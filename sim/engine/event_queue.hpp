// When each resource next has something to say.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "sim/engine/task_graph.hpp"

namespace allreplay {

/// One wake-up per resource, movable: an older entry of the heap is dropped when its turn comes.
class EventQueue {
 public:
  explicit EventQueue(std::size_t resources) : wake_(resources, never) {}

  void schedule(ResourceId resource, Time at) {
    if (wake_[resource] == at) return;
    wake_[resource] = at;
    if (at != never) heap_.push({at, resource});
  }

  /// The next instant at which some resource wakes.
  std::optional<Time> next() {
    drop_stale();
    return heap_.empty() ? std::nullopt : std::optional(heap_.top().at);
  }

  /// A resource that wakes at `instant`, once each.
  std::optional<ResourceId> pop(Time instant) {
    drop_stale();
    if (heap_.empty() || heap_.top().at != instant) return std::nullopt;
    const ResourceId resource = heap_.top().resource;
    heap_.pop();
    wake_[resource] = never;
    return resource;
  }

 private:
  struct Event {
    Time at;
    ResourceId resource;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : resource > other.resource; }
  };

  void drop_stale() {
    while (!heap_.empty() && wake_[heap_.top().resource] != heap_.top().at) heap_.pop();
  }

  std::vector<Time> wake_;  // by resource
  std::priority_queue<Event, std::vector<Event>, std::greater<>> heap_;
};

}  // namespace allreplay
