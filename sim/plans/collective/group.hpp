// The workers among which a collective runs.
#pragma once

#include <cstdint>
#include <vector>

namespace allreplay {

/// A family of equal groups of workers that run the same collective simultaneously, each within itself. A group has
/// `ranks` workers, every `stride`-th one; the `repeats` groups cover all workers, or a range that starts at `first`. A
/// value of 0 is open: it follows from the number of workers (see of()).
struct Group {
  std::int64_t ranks = 0;
  std::int64_t stride = 1;
  std::int64_t repeats = 1;
  std::int64_t first = 0;
  /// If there is no stride: the workers of group 0, in order; those of group i are i higher.
  std::vector<std::int64_t> members = {};

  bool operator==(const Group&) const = default;

  /// The same with its open values set. REQUIRES: the given value divides `workers`.
  Group of(std::int64_t workers) const {
    Group whole = *this;
    if (ranks == 0) whole.ranks = repeats > 0 ? workers / repeats : workers;
    if (repeats == 0) whole.repeats = workers / whole.ranks;
    return whole;
  }

  /// The index of the worker's group, in the order of first workers. REQUIRES: it has one; no open values or `members`.
  std::int64_t index_of(std::int64_t worker) const {
    return (worker - first) / (ranks * stride) * stride + (worker - first) % stride;
  }
  /// The number of workers in all groups. REQUIRES: no value is open.
  std::int64_t workers() const { return ranks * repeats; }
};

inline Group everybody() { return {}; }
/// Groups of `ranks` consecutive workers each.
inline Group consecutive(std::int64_t ranks) { return {ranks, 1, 0}; }
/// Groups of the workers that have the same place in runs of `size` consecutive workers.
inline Group equal_place_group(std::int64_t size) { return {0, size, size}; }

}  // namespace allreplay
