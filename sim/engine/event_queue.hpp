// When each server next has something to say.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "sim/engine/task_graph.hpp"

namespace allreplay {

/// One wake-up per server, movable: an older entry of the heap is dropped when its turn comes.
class EventQueue {
 public:
  explicit EventQueue(std::size_t servers) : wake_(servers, never) {}

  void schedule(std::uint32_t server, Time at) {
    if (wake_[server] == at) return;
    wake_[server] = at;
    if (at != never) heap_.push({at, server});
  }

  /// The next instant at which some server wakes.
  std::optional<Time> next() {
    drop_stale();
    return heap_.empty() ? std::nullopt : std::optional(heap_.top().at);
  }

  /// A server that wakes at `instant`, once each.
  std::optional<std::uint32_t> pop(Time instant) {
    drop_stale();
    if (heap_.empty() || heap_.top().at != instant) return std::nullopt;
    const std::uint32_t server = heap_.top().server;
    heap_.pop();
    wake_[server] = never;
    return server;
  }

 private:
  struct Event {
    Time at;
    std::uint32_t server;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : server > other.server; }
  };

  void drop_stale() {
    while (!heap_.empty() && wake_[heap_.top().server] != heap_.top().at) heap_.pop();
  }

  std::vector<Time> wake_;  // by server
  std::priority_queue<Event, std::vector<Event>, std::greater<>> heap_;
};

}  // namespace allreplay
