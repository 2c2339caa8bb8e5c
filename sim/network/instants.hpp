// The events of a network of messages, gathered by instant.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/core/time.hpp"

namespace allreplay {

/// A radix heap: an event waits in the bucket of the highest bit in which its instant differs from the latest that was
/// popped, so that those of one instant are always together, in the order of their coming, and the next is in the
/// lowest bucket that is not empty. That one is dealt out to those below it when its time comes: an event moves down as
/// often as there are bits in which it differs from its neighbours, and nothing is ever compared but with the least.
class Instants {
 public:
  struct Event {
    std::uint32_t subject;
    std::uint32_t what;
  };

  /// REQUIRES: `at` is not before the latest instant that was popped.
  void push(Time at, Event event) {
    put(at, event);
    next_ = std::min(next_, at);
  }

  Time next() const { return next_; }

  /// Calls `handle` for every event of the next instant, those included that come while it does.
  template <class Handle>
  void pop(const Handle& handle) {
    deal();
    for (std::size_t i = 0; i < buckets_[0].size(); ++i) handle(Event(buckets_[0][i].event));
    buckets_[0].clear();
    used_ &= ~std::uint64_t{1};
    next_ = used_ == 0 ? never : first_[lowest()];
  }

 private:
  struct Timed {
    Time at;
    Event event;
  };

  std::size_t bucket(Time at) const { return std::bit_width(static_cast<std::uint64_t>(at.count() ^ now_.count())); }
  std::size_t lowest() const { return std::countr_zero(used_); }
  void put(Time at, Event event) {
    const std::size_t place = bucket(at);
    const std::uint64_t bit = std::uint64_t{1} << place;
    if ((used_ & bit) == 0) {
      used_ |= bit;
      first_[place] = at;
    } else if (at != first_[place]) {
      mixed_ |= bit;
      first_[place] = std::min(first_[place], at);
    }
    buckets_[place].push_back({at, event});
  }
  void deal();

  // An instant has 63 bits.
  std::array<std::vector<Timed>, 64> buckets_;
  std::array<Time, 64> first_;  // of each bucket that is not empty
  std::uint64_t used_ = 0;      // a bit for each that is not
  std::uint64_t mixed_ = 0;     // and for each that has more than one instant
  Time now_{0};                 // popped latest
  Time next_ = never;
};

}  // namespace allreplay
