// A queue of entries that wait until an instant, the earliest first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace allreplay {

/// Most entries are not earlier than the one pushed before: these are appended to a sorted line. A heap has the others.
class WaitingLine {
 public:
  struct Instant {
    Instant(double when, std::uint32_t of) : at(when), index(of) {}
    double at;
    std::uint32_t index;
    bool operator>(const Instant& other) const { return at > other.at; }
  };

  bool empty() const { return first_ == line_.size() && heap_.empty(); }

  void push(double at, std::uint32_t index) {
    if (first_ == line_.size() || at >= line_.back().at) {
      if (first_ > std::max(worth_shortening, line_.size() / 2)) shorten();
      line_.emplace_back(at, index);
    } else {
      heap_.emplace_back(at, index);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
  }

  /// The next instant; infinity if there is none.
  double next() const {
    return std::min(first_ == line_.size() ? forever : line_[first_].at, heap_.empty() ? forever : heap_.front().at);
  }

  /// The next entry; null if there is none.
  const Instant* first() const {
    if (next_is_in_line()) return &line_[first_];
    return heap_.empty() ? nullptr : &heap_.front();
  }
  /// The instant of the entry after that; infinity if there is none.
  double second() const {
    if (next_is_in_line())
      return std::min(first_ + 1 == line_.size() ? forever : line_[first_ + 1].at,
                      heap_.empty() ? forever : heap_.front().at);
    double second = first_ == line_.size() ? forever : line_[first_].at;
    for (std::size_t i = 1; i < std::min<std::size_t>(heap_.size(), 3); ++i) second = std::min(second, heap_[i].at);
    return second;
  }

  /// The entry at that instant. REQUIRES: not empty.
  std::uint32_t next_index() const { return next_is_in_line() ? line_[first_].index : heap_.front().index; }

  /// REQUIRES: not empty.
  std::uint32_t pop() {
    if (next_is_in_line()) return line_[first_++].index;
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const std::uint32_t index = heap_.back().index;
    heap_.pop_back();
    return index;
  }

  /// Replaces each `who` by `numbers[who]`.
  void renumber(const std::vector<std::uint32_t>& numbers) {
    shorten();
    for (Instant& instant : line_) instant.index = numbers[instant.index];
    for (Instant& instant : heap_) instant.index = numbers[instant.index];
  }

 private:
  static constexpr std::size_t worth_shortening = 32;
  static constexpr double forever = std::numeric_limits<double>::infinity();

  bool next_is_in_line() const {
    return first_ < line_.size() && (heap_.empty() || line_[first_].at <= heap_.front().at);
  }

  void shorten() {
    line_.erase(line_.begin(), line_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }

  std::vector<Instant> line_;  // from `first_` on, sorted
  std::size_t first_ = 0;
  std::vector<Instant> heap_;  // the earliest at the front
};

}  // namespace allreplay
