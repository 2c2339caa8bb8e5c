#include "sim/plans/schedule/frameworks.hpp"

#include <algorithm>
#include <limits>

#include "sim/plans/schedule/gradients.hpp"

namespace allreplay {

namespace {

std::uint32_t tick_number(std::int64_t tick) {
  return static_cast<std::uint32_t>(std::min<std::int64_t>(tick, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

// As compute_bucket_assignment_by_size() in torch/csrc/distributed/c10d/reducer.cpp.
BucketSchedule schedule_ddp(const PlanRequest& request) {
  const auto list = gradients(request.profile);
  const StrategyOptions& options = request.options;
  const Bytes cap = options.bucket_cap.value_or(ddp_bucket_cap);
  const Bytes first = options.first_bucket.value_or(options.bucket_cap.value_or(ddp_first_bucket));
  std::vector<std::size_t> ends;
  Bytes bytes = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    bytes += list[i].bytes;
    if (bytes < (ends.empty() ? first : cap) && i + 1 < list.size()) continue;
    ends.push_back(i + 1);
    bytes = 0;
  }
  BucketSchedule schedule = merge("ddp", list, ends);
  schedule.order = Order::AsListed;
  return schedule;
}

// With NCCL, Horovod's loop never waits for a block to end (horovod/common/operations.cc, RunLoopOnce).
BucketSchedule schedule_horovod(const PlanRequest& request) {
  const auto list = gradients(request.profile);
  const Time cycle = request.options.cycle;
  const Bytes threshold = request.options.threshold.value_or(horovod_threshold);
  const auto tick_of = [&](const Gradient& gradient) { return (gradient.ready + cycle - Time(1)) / cycle; };
  std::vector<std::size_t> ends;
  Bytes bytes = list[0].bytes;
  for (std::size_t i = 1; i < list.size(); ++i) {
    const bool fuses = tick_of(list[i]) == tick_of(list[i - 1]) && list[i].bytes <= threshold - bytes;
    if (!fuses) {
      ends.push_back(i);
      bytes = 0;
    }
    bytes += list[i].bytes;
  }
  ends.push_back(list.size());
  BucketSchedule schedule = merge("horovod", list, ends);
  schedule.tick = cycle;
  for (std::size_t i = 0; i < ends.size(); ++i) schedule.blocks[i].tick = tick_number(tick_of(list[ends[i] - 1]));
  return schedule;
}

}  // namespace allreplay
