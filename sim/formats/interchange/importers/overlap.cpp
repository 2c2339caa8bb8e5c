#include "sim/formats/interchange/importers/overlap.hpp"

#include <algorithm>
#include <utility>

namespace allreplay {

namespace {

double middle_of(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

}  // namespace

std::vector<Interval> joined(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) { return a.start < b.start; });
  std::vector<Interval> all;
  for (const Interval& one : intervals)
    if (!all.empty() && one.start <= all.back().end)
      all.back().end = std::max(all.back().end, one.end);
    else
      all.push_back(one);
  return all;
}

std::int64_t length(std::span<const Interval> joined) {
  std::int64_t sum = 0;
  for (const Interval& one : joined) sum += one.end - one.start;
  return sum;
}

std::int64_t shared_length(const Interval& one, std::span<const Interval> joined) {
  auto at = std::partition_point(joined.begin(), joined.end(), [&](const Interval& i) { return i.end <= one.start; });
  std::int64_t sum = 0;
  for (; at != joined.end() && at->start < one.end; ++at)
    sum += std::min(at->end, one.end) - std::max(at->start, one.start);
  return sum;
}

std::int64_t shared_length(std::span<const Interval> of, std::span<const Interval> in) {
  std::int64_t sum = 0;
  for (const Interval& one : of) sum += shared_length(one, in);
  return sum;
}

JoinedIntervals::JoinedIntervals(std::vector<Interval> intervals) : joined_(joined(std::move(intervals))), before_{0} {
  for (const Interval& one : joined_) before_.push_back(before_.back() + one.end - one.start);
}

std::int64_t JoinedIntervals::covered_before(std::int64_t time) const {
  const auto at =
      std::partition_point(joined_.begin(), joined_.end(), [time](const Interval& one) { return one.end <= time; });
  const std::int64_t begun = at == joined_.end() ? 0 : std::max<std::int64_t>(0, time - at->start);
  return before_[static_cast<std::size_t>(at - joined_.begin())] + begun;
}

void SlowdownEstimate::add(std::uint64_t kind, std::int64_t duration, std::int64_t overlapped) {
  overlapped_ += overlapped;
  if (overlapped == 0)
    seen_[kind].alone.push_back(duration);
  else if (10 * overlapped >= 9 * duration)
    seen_[kind].overlapped.push_back(duration);
}

std::optional<SlowdownEstimate::Result> SlowdownEstimate::result() const {
  Result result;
  double alone = 0, overlapped = 0;
  for (const auto& [kind, seen] : seen_) {
    if (seen.alone.empty() || seen.overlapped.empty()) continue;
    const auto times = static_cast<double>(seen.overlapped.size());
    alone += times * middle_of(seen.alone);
    overlapped += times * middle_of(seen.overlapped);
    result.pieces += static_cast<std::int64_t>(seen.overlapped.size());
    ++result.kinds;
  }
  if (result.pieces < 10 || alone <= 0) return std::nullopt;
  result.factor = overlapped / alone;
  result.covered = overlapped / static_cast<double>(overlapped_);
  if (result.covered < 0.2) return std::nullopt;
  return result;
}

}  // namespace allreplay
