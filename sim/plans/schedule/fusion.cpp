// Strategies that fuse gradients up to a size: PyTorch DDP, Horovod and DeAR.
#include <algorithm>
#include <limits>

#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/planners.hpp"

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

BucketSchedule schedule_dear(const PlanRequest& request) {
  const auto list = gradients(request.profile);
  const Bytes threshold = request.options.threshold.value_or(dear_threshold);
  const auto layer_of = [&](std::size_t i) { return request.profile.tensors[list[i].tensor].layer; };
  // The list is in backward order, so forward order starts at its end. A group has at least one layer.
  std::vector<std::size_t> ends{list.size()};
  Bytes bytes = 0;
  for (std::size_t end = list.size(); end > 0;) {
    std::size_t first = end - 1;
    Bytes layer = list[first].bytes;
    while (first > 0 && layer_of(first - 1) == layer_of(end - 1)) layer += list[--first].bytes;
    if (bytes > 0 && layer >= threshold - bytes) {
      ends.push_back(end);
      bytes = 0;
    }
    bytes += layer;
    end = first;
  }
  std::reverse(ends.begin(), ends.end());
  BucketSchedule schedule = merge("dear", list, ends);
  // The last gradient of a block is the nearest to the input. Reduce-scatters become ready in the order of the list and
  // go before every all-gather; since one block is sent at a time, gathers wait for all of them.
  for (Block& block : schedule.blocks) block.priority = request.profile.tensors[block.slices.back().tensor].layer;
  schedule.order = Order::Priority;
  schedule.barrier = Barrier::Layer;
  schedule.split = true;
  return schedule;
}

}  // namespace allreplay
