// Among whom a collective goes.
#pragma once

#include <cstdint>
#include <vector>

namespace allreplay {

/// A family of equal groups of workers that act at once, each among itself: `ranks` workers a group, `stride` apart,
/// `repeats` groups that together are all workers, or so many from the `first` on. What is 0 follows from how many
/// workers there are (of()).
struct Group {
  std::int64_t ranks = 0;
  std::int64_t stride = 1;
  std::int64_t repeats = 1;
  std::int64_t first = 0;
  /// Where they follow no stride: who they are, in their order, in the first of the groups; the others are behind them.
  std::vector<std::int64_t> members = {};

  bool operator==(const Group&) const = default;

  /// The same with nothing left open. REQUIRES: what is given divides `workers`.
  Group of(std::int64_t workers) const {
    Group whole = *this;
    if (ranks == 0) whole.ranks = repeats > 0 ? workers / repeats : workers;
    if (repeats == 0) whole.repeats = workers / whole.ranks;
    return whole;
  }

  /// Which of the groups holds the worker, counted by their first. REQUIRES: it is in one, nothing is left open, and
  /// they have strides.
  std::int64_t index_of(std::int64_t worker) const {
    return (worker - first) / (ranks * stride) * stride + (worker - first) % stride;
  }
  /// How many workers are in any of the groups. REQUIRES: nothing is left open.
  std::int64_t workers() const { return ranks * repeats; }
};

inline Group everybody() { return {}; }
/// `ranks` consecutive workers each.
inline Group consecutive(std::int64_t ranks) { return {ranks, 1, 0}; }
/// Those of equal place in `groups` of so many consecutive workers.
inline Group of_equal_place(std::int64_t size) { return {0, size, size}; }

}  // namespace allreplay
