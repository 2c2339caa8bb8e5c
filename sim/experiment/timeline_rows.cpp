#include "sim/experiment/timeline_rows.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace allreplay {

namespace {

std::string class_name(const WorkerClass& one, bool only) {
  const auto count = one.workers.size();
  std::string name = count == 1 ? fmt::format("worker {}", one.workers[0])
                     : only     ? fmt::format("all {} workers", count)
                                : fmt::format("{} workers like worker {}", count, one.workers[0]);
  return one.slowdown == 1 ? name : name + fmt::format(" (x{:g} as slow)", one.slowdown);
}

class RowMaker {
 public:
  RowMaker(const Outcome& outcome, const Episode& episode)
      : outcome_(outcome), result_(outcome.result), unrolled_(outcome.result.unrolled), episode_(episode) {}

  TimelineRows make() {
    for (std::size_t c = 0; c < unrolled_.classes; ++c) add_compute(c);
    std::vector<std::size_t> by_start(unrolled_.collectives());
    for (std::size_t i = 0; i < by_start.size(); ++i) by_start[i] = i;
    std::stable_sort(by_start.begin(), by_start.end(),
                     [&](std::size_t a, std::size_t b) { return span_of(a).start < span_of(b).start; });
    for (const std::size_t index : by_start) add_collective(index);
    return std::move(rows_);
  }

 private:
  const Span& span_of(std::size_t collective) const { return episode_.timeline.spans[unrolled_.block(collective)]; }

  Bar bar_of(const Span& span, Activity activity, std::string name, std::size_t item) const {
    const auto clock = [&](Time time) { return add(episode_.start, time); };
    return {activity, std::move(name), item, clock(span.ready), clock(span.start), clock(span.end)};
  }

  void add_compute(std::size_t c) {
    TimelineRow row{class_name(result_.classes[c], unrolled_.classes == 1), {}};
    const auto append = [&](TaskId task, Activity activity, std::size_t layer) {
      const std::string& name = outcome_.scenario.profile.layers[layer].name;
      row.bars.push_back(bar_of(episode_.timeline.spans[task], activity, name, layer));
    };
    for (std::size_t layer = unrolled_.layers; layer-- > 0;)
      append(unrolled_.backward(c, layer), Activity::Backward, layer);
    for (std::size_t layer = 0; layer < unrolled_.layers; ++layer)
      append(unrolled_.forward(c, layer), Activity::Forward, layer);
    rows_.compute.push_back(std::move(row));
  }

  // Where add_compute() has put a layer's bars.
  std::size_t backward_bar(LayerId layer) const { return unrolled_.layers - 1 - layer; }
  std::size_t forward_bar(LayerId layer) const { return unrolled_.layers + layer; }

  void add_collective(std::size_t index) {
    const std::size_t block = index % unrolled_.blocks, stage = index / unrolled_.blocks;
    const Activity activity = unrolled_.stages == 1 ? Activity::AllReduce
                              : stage == 0          ? Activity::ReduceScatter
                                                    : Activity::AllGather;
    const Plan& plan = result_.plan;
    const Bar bar =
        bar_of(span_of(index), activity, describe(plan.blocks[block], outcome_.scenario.profile, block), block);
    const BarPlace place = take_lane(bar);
    const LayerId first = first_layer(plan.blocks[block]);
    if (stage == 0) {
      const std::size_t made = backward_bar(plan.release == Release::Backward ? 0 : first);
      std::size_t last = 0;
      for (std::size_t c = 1; c < rows_.compute.size(); ++c)
        if (rows_.compute[c].bars[made].end > rows_.compute[last].bars[made].end) last = c;
      rows_.made.push_back({{last, made}, place});
    }
    if (stage + 1 == unrolled_.stages)
      rows_.gates.push_back({place, {0, forward_bar(plan.barrier == Barrier::Iteration ? 0 : first)}});
  }

  LayerId first_layer(const Block& block) const {
    LayerId first = std::numeric_limits<LayerId>::max();
    for (const Slice& slice : block.slices)
      first = std::min(first, outcome_.scenario.profile.tensors[slice.tensor].layer);
    return first;
  }

  BarPlace take_lane(const Bar& bar) {
    auto& lanes = rows_.network;
    const auto free = std::find_if(lanes.begin(), lanes.end(),
                                   [&](const TimelineRow& lane) { return lane.bars.back().end <= bar.start; });
    const auto row = static_cast<std::size_t>(free - lanes.begin());
    if (free == lanes.end()) lanes.push_back({row == 0 ? "collectives" : fmt::format("collectives {}", row + 1), {}});
    lanes[row].bars.push_back(bar);
    return {row, lanes[row].bars.size() - 1};
  }

  const Outcome& outcome_;
  const Result& result_;
  const Unrolled& unrolled_;
  const Episode& episode_;
  TimelineRows rows_;
};

}  // namespace

TimelineRows timeline_rows(const Outcome& outcome, const Episode& episode) { return RowMaker(outcome, episode).make(); }

}  // namespace allreplay
