#include "sim/schedule/merging.hpp"

#include <algorithm>
#include <numeric>

#include "sim/schedule/gradients.hpp"

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

// MG-WFBP, Algorithm 1, in backward order. The start of communication τ_c of a gradient depends only on those before
// it, so one pass does what lines 10-14 do with L recalculations. The gain of a merge is written as Eq. 17 has it,
// T(p) + T(p') − T(p + p'), which is `a` where T is a + b·M. A tie is not merged.
BucketSchedule schedule_mg_wfbp(const PlanRequest& request) {
  const auto list = gradients(request.profile);
  const BlockCost& cost = request.cost;
  std::vector<std::size_t> ends;
  Time start = list[0].ready;  // τ_c of the block that is being gathered
  Bytes bytes = list[0].bytes;
  std::size_t first = 0;  // of the block
  for (std::size_t next = 1; next < list.size(); ++next) {
    const Time gain = add(cost(bytes), cost(list[next].bytes)) - cost(bytes + list[next].bytes);
    if (list[next].ready - start < gain) {
      bytes += list[next].bytes;
    } else {
      start = add(start, cost(bytes, next - first));
      first = next;
      bytes = list[next].bytes;
      ends.push_back(next);
    }
    start = std::max(start, list[next].ready);
  }
  ends.push_back(list.size());
  return merge("mg-wfbp", list, ends);
}

// f(j) = min over i < j of max(f(i), ready(j)) + T(bytes(i..j)): the earliest end of the first j gradients. Exact
// over all contiguous merges, for any T (docs/models.md, "Algorithm 1 and the optimum"). Among equals the larger block
// wins: fewer collectives.
BucketSchedule schedule_optimal_merge(const PlanRequest& request) {
  const auto list = gradients(request.profile);
  std::vector<Time> finish(list.size() + 1, Time(0));
  std::vector<std::size_t> start(list.size() + 1, 0);  // of the last block in the best merge of the first j
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
