#include <algorithm>
#include <numeric>

#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/planners.hpp"

namespace allreplay {

namespace {

std::vector<std::size_t> each_alone(std::size_t count) {
  std::vector<std::size_t> ends(count);
  std::iota(ends.begin(), ends.end(), std::size_t{1});
  return ends;
}

}  // namespace

BucketSchedule schedule_s_sgd(const PlanRequest& request) {
  const auto list = gradients(request.profile);
  BucketSchedule schedule = merge("s-sgd", list, each_alone(list.size()));
  schedule.release = Release::Backward;
  return schedule;
}

BucketSchedule schedule_wfbp(const PlanRequest& request) {
  const auto list = gradients(request.profile);
  return merge("wfbp", list, each_alone(list.size()));
}

BucketSchedule schedule_sync_easgd(const PlanRequest& request) {
  const auto list = gradients(request.profile);
  return merge("sync-easgd", list, std::vector{list.size()});
}

// MG-WFBP, Algorithm 1, in backward order. The start of communication τ_c of a gradient depends only on earlier
// gradients, so one pass replaces the L recalculations of lines 10-14. The gain of a merge is that of Eq. 17,
// T(p) + T(p') − T(p + p'), which is `a` if T = a + b·M. Ties are not merged. Times are not rounded to picoseconds:
// without start-ups the gain is 0, and rounding would decide ties between gradients that are ready simultaneously.
// `lost` keeps the rounding of doubles from deciding them.
BucketSchedule schedule_mg_wfbp(const PlanRequest& request) {
  const auto list = gradients(request.profile);
  const auto ps = [](Time time) { return static_cast<double>(time.count()); };
  const auto cost = [&](Bytes bytes, std::size_t tensors = 0) { return 1e12 * request.cost.seconds(bytes, tensors); };
  std::vector<std::size_t> ends;
  double start = ps(list[0].ready);  // τ_c of the current block, in picoseconds
  Bytes bytes = list[0].bytes;
  std::size_t first = 0;  // first gradient of the block
  for (std::size_t next = 1; next < list.size(); ++next) {
    const double merged = cost(bytes + list[next].bytes);
    const double gain = cost(bytes) + cost(list[next].bytes) - merged;
    const double lost = 1e-2 + 1e-14 * (start + merged);
    if (ps(list[next].ready) - start < gain - lost) {
      bytes += list[next].bytes;
    } else {
      start += cost(bytes, next - first);
      first = next;
      bytes = list[next].bytes;
      ends.push_back(next);
    }
    start = std::max(start, ps(list[next].ready));
  }
  ends.push_back(list.size());
  return merge("mg-wfbp", list, ends);
}

// f(j) = min over i < j of max(f(i), ready(j)) + T(bytes(i..j)) is the earliest end of the first j gradients. It is
// exact over all contiguous merges, for any T (docs/models.md, "Algorithm 1 and the optimum"). Larger blocks win ties.
BucketSchedule schedule_optimal_merge(const PlanRequest& request) {
  const auto list = gradients(request.profile);
  std::vector<Time> finish(list.size() + 1, Time(0));
  std::vector<std::size_t> start(list.size() + 1, 0);  // by j: start of its last block
  for (std::size_t j = 1; j <= list.size(); ++j) {
    finish[j] = never;
    Bytes bytes = 0;
    for (std::size_t i = j; i-- > 0;) {
      bytes += list[i].bytes;
      const Time end = add(std::max(finish[i], list[j - 1].ready), request.cost(bytes, j - i));
      if (end <= finish[j]) {
        finish[j] = end;
        start[j] = i;
      }
    }
  }
  std::vector<std::size_t> ends;
  for (std::size_t end = list.size(); end > 0; end = start[end]) ends.push_back(end);
  std::reverse(ends.begin(), ends.end());
  return merge("optimal-merge", list, ends);
}

}  // namespace allreplay
