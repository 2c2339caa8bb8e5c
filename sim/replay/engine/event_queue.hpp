// The next wake-up time of each server.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/replay/engine/task_graph.hpp"

namespace allreplay {

/// One movable wake-up per server. A tournament tree: the earlier wake-up wins a match, or the lower server number.
class EventQueue {
 public:
  explicit EventQueue(std::size_t servers) : leaves_(std::bit_ceil(std::max<std::size_t>(servers, 1))) {
    matches_.resize(2 * leaves_, {never, 0});
    for (std::size_t i = 0; i < leaves_; ++i) matches_[leaves_ + i].server = static_cast<std::uint32_t>(i);
    for (std::size_t i = leaves_ - 1; i > 0; --i) matches_[i] = winner(i);
  }

  void schedule(std::uint32_t server, Time at) {
    std::size_t i = leaves_ + server;
    if (matches_[i].at == at) return;
    matches_[i].at = at;
    for (i /= 2; i > 0; i /= 2) {
      const Event& won = winner(i);
      if (matches_[i].at == won.at && matches_[i].server == won.server) return;
      matches_[i] = won;
    }
  }

  /// The next instant at which some server wakes; `never` if none does.
  Time next() const { return first().at; }

  /// Removes and returns a server that wakes at `instant`; nothing if none is left.
  std::optional<std::uint32_t> pop(Time instant) {
    if (first().at != instant) return std::nullopt;
    const std::uint32_t server = first().server;
    schedule(server, never);
    return server;
  }

 private:
  struct Event {
    Time at;
    std::uint32_t server;
  };

  const Event& first() const { return matches_[1]; }
  const Event& winner(std::size_t match) const {
    const Event &left = matches_[2 * match], &right = matches_[2 * match + 1];
    return right.at < left.at ? right : left;
  }

  std::size_t leaves_;
  std::vector<Event> matches_;  // a binary heap layout: the final is 1, match i is between 2i and 2i + 1; leaves last
};

}  // namespace allreplay
