// Overlap of intervals, and an estimate of how much simultaneous communication slows computation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace allreplay {

struct Interval {
  std::int64_t start = 0, end = 0;
};

/// Sorts the intervals, and merges those that overlap or touch.
std::vector<Interval> joined(std::vector<Interval> intervals);

std::int64_t length(std::span<const Interval> joined);

/// Returns the length of `one` that lies in joined intervals.
std::int64_t shared_length(const Interval& one, std::span<const Interval> joined);

/// Returns the length of the joined intervals `of` that lies in the joined intervals `in`.
std::int64_t shared_length(std::span<const Interval> of, std::span<const Interval> in);

/// Finds how long many intervals overlap with the same ones, whatever number of these each overlaps.
class JoinedIntervals {
 public:
  explicit JoinedIntervals(std::vector<Interval> intervals);
  /// Returns the length of `one` that lies in the intervals.
  std::int64_t shared(const Interval& one) const { return covered_before(one.end) - covered_before(one.start); }

 private:
  std::int64_t covered_before(std::int64_t time) const;

  std::vector<Interval> joined_;
  std::vector<std::int64_t> before_;  // by index: the length of all earlier intervals
};

/// Estimates a slow-down from work that was measured both during communication and without it.
class SlowdownEstimate {
 public:
  struct Result {
    double factor = 1;        ///< relative to the time without communication
    std::int64_t pieces = 0;  ///< measurements during communication, of kinds that were measured both ways
    std::int64_t kinds = 0;   ///< kinds of work that were measured both ways
    double covered = 0;       ///< their share of all time during communication
  };

  /// Adds a measurement. `kind` is equal for equal work. `overlapped` is the part of `duration` during which
  /// communication ran. Work that communication overlaps for more than 0 but less than nine tenths of its time is
  /// ignored.
  void add(std::uint64_t kind, std::int64_t duration, std::int64_t overlapped);

  /// Compares the medians of each kind, weighted by its number of measurements during communication. Returns none if
  /// fewer than ten measurements during communication, or less than a fifth of their time, are of kinds that were also
  /// measured without it.
  std::optional<Result> result() const;

 private:
  struct Seen {
    std::vector<std::int64_t> alone, overlapped;
  };
  std::map<std::uint64_t, Seen> seen_;
  std::int64_t overlapped_ = 0;
};

}  // namespace allreplay
