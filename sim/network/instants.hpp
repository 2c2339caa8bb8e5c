// The events of a network of messages, gathered by instant.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/core/time.hpp"

namespace allreplay {

/// Simultaneous events are the rule here, not the exception: the messages of a round begin and end together. So the
/// heap holds instants, each with its events in the order of their coming, and pushing to an instant that was pushed to
/// lately costs no more than appending to a vector. Should an instant not be remembered it gets a second bucket, which
/// the heap keeps beside the first.
class Instants {
 public:
  struct Event {
    std::uint32_t subject;
    std::uint32_t what;
  };

  Instants() { remembered_.fill({never, 0}); }

  void push(Time at, Event event) {
    Memory& memory = remembered_[slot(at)];
    if (memory.at != at) memory = {at, open(at)};
    buckets_[memory.bucket].push_back(event);
  }

  Time next() const { return heap_.empty() ? never : heap_.front().at; }

  /// Calls `handle` for every event of the next instant, those included that come while it does.
  template <class Handle>
  void pop(const Handle& handle) {
    const Time now = next();
    while (next() == now) {
      const std::uint32_t bucket = heap_.front().bucket;
      for (std::size_t i = 0; i < buckets_[bucket].size(); ++i) handle(Event(buckets_[bucket][i]));
      close();
    }
  }

 private:
  static constexpr std::size_t slots = 64;
  struct Memory {
    Time at;
    std::uint32_t bucket;
  };
  struct Instant {
    Time at;
    std::uint32_t order;
    std::uint32_t bucket;
    bool before(const Instant& other) const { return at != other.at ? at < other.at : order < other.order; }
  };

  static std::size_t slot(Time at) {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(at.count()) * 0x9e3779b97f4a7c15u >> 58);
  }
  std::uint32_t open(Time at);
  void close();

  std::vector<Instant> heap_;  // four children per entry: half as deep as two, and siblings share cache lines
  std::vector<std::vector<Event>> buckets_;
  std::vector<std::uint32_t> free_;
  std::array<Memory, slots> remembered_;
  std::uint32_t order_ = 0;
};

}  // namespace allreplay
