// The event queue of MessageNetwork, which handles all events of an instant together.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/core/time.hpp"

namespace allreplay {

/// A radix heap: an event waits in the bucket of the highest bit in which its instant differs from the instant popped
/// last. Events of one instant are always in the same bucket, in the order of their arrival, and the next instant is in
/// the lowest bucket that is not empty. When its time comes, that bucket is dealt out to the lower ones. An event moves
/// down at most once per bit, and is compared only with the earliest of its bucket.
class Instants {
 public:
  struct Event {
    std::uint32_t subject;
    std::uint32_t what;
  };

  /// REQUIRES: `at` is not before the instant popped last.
  void push(Time at, Event event) {
    put(at, event);
    next_ = std::min(next_, at);
  }

  Time next() const { return next_; }

  /// Calls `handle` for every event of the next instant, including those that are pushed meanwhile.
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
  std::array<Time, 64> first_;  // by bucket: its earliest instant, if it is not empty
  std::uint64_t used_ = 0;      // a bit for each bucket that is not empty
  std::uint64_t mixed_ = 0;     // a bit for each bucket with more than one instant
  Time now_{0};                 // popped last
  Time next_ = never;
};

}  // namespace allreplay
