// What ran at the same time on a device, and how much longer work takes while something else runs.
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

/// Sorted, and those that overlap or touch made one.
std::vector<Interval> joined(std::vector<Interval> intervals);

std::int64_t length(std::span<const Interval> joined);

/// How much of `one` lies in joined intervals.
std::int64_t shared_length(const Interval& one, std::span<const Interval> joined);

/// How much of the joined intervals `of` lies in the joined intervals `in`.
std::int64_t shared_length(std::span<const Interval> of, std::span<const Interval> in);

/// The same work, seen both beside something else and alone, tells what the other costs.
class SlowdownEstimate {
 public:
  struct Result {
    double factor = 1;        ///< of the time alone
    std::int64_t pieces = 0;  ///< of work beside something else, of which the same was seen alone, too
    std::int64_t kinds = 0;   ///< of such work
    double covered = 0;       ///< their share of all time beside something else
  };

  /// `kind` is equal for equal work. What is beside something for less than nine tenths of its time, and not alone,
  /// says nothing of either.
  void add(std::uint64_t kind, std::int64_t duration, std::int64_t beside);

  /// Medians of each kind, weighted by how often it was beside something; nothing where too little was seen both ways:
  /// less than a fifth of the time, or fewer than ten pieces.
  std::optional<Result> result() const;

 private:
  struct Seen {
    std::vector<std::int64_t> alone, beside;
  };
  std::map<std::uint64_t, Seen> seen_;
  std::int64_t beside_ = 0;
};

}  // namespace allreplay
