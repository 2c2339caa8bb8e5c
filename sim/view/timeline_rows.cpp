#include "sim/view/timeline_rows.hpp"

#include <algorithm>

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
      : outcome_(outcome),
        result_(outcome.result),
        unrolled_(outcome.result.unrolled),
        episode_(episode),
        places_(unrolled_.graph.tasks().size()) {}

  TimelineRows make() {
    rows_.streams.resize(unrolled_.beside ? 2 * unrolled_.classes : unrolled_.classes);
    for (std::size_t c = 0; c < unrolled_.classes; ++c) add_streams(c);
    std::vector<std::size_t> by_start(unrolled_.collectives());
    for (std::size_t i = 0; i < by_start.size(); ++i) by_start[i] = i;
    std::stable_sort(by_start.begin(), by_start.end(), [&](std::size_t a, std::size_t b) {
      return span(unrolled_.block(a)).start < span(unrolled_.block(b)).start;
    });
    for (const std::size_t index : by_start) add_collective(index);
    return std::move(rows_);
  }

 private:
  const Span& span(TaskId task) const { return episode_.timeline.spans[task]; }

  Bar bar_of(TaskId task, Activity activity, std::string name, std::size_t item) const {
    const auto clock = [&](Time time) { return add(episode_.start, time); };
    return {.activity = activity,
            .name = std::move(name),
            .item = item,
            .bytes = unrolled_.graph.tasks()[task].bytes,
            .ready = clock(span(task).ready),
            .start = clock(span(task).start),
            .end = clock(span(task).end)};
  }

  std::string name_of(std::size_t block) const {
    return describe(result_.plan.blocks[block], outcome_.scenario.profile, block);
  }

  struct Piece {
    TaskId task;
    Activity activity;
    std::size_t item;
  };

  void add_streams(std::size_t c) {
    std::vector<Piece> layers, codec;
    for (std::size_t layer = unrolled_.layers; layer-- > 0;)
      layers.push_back({unrolled_.backward(c, layer), Activity::Backward, layer});
    for (std::size_t layer = 0; layer < unrolled_.layers; ++layer)
      layers.push_back({unrolled_.forward(c, layer), Activity::Forward, layer});
    for (std::size_t block = 0; block < unrolled_.blocks; ++block) {
      if (unrolled_.encodes)
        codec.push_back({unrolled_.encode(c, block), unrolled_.decodes ? Activity::Encode : Activity::Codec, block});
      if (unrolled_.decodes) codec.push_back({unrolled_.decode(c, block), Activity::Decode, block});
    }
    const std::string name = class_name(result_.classes[c], unrolled_.classes == 1);
    if (unrolled_.beside)
      add_stream(unrolled_.classes + c, "codec of " + name, std::move(codec));
    else
      layers.insert(layers.end(), codec.begin(), codec.end());
    add_stream(c, name, std::move(layers));
  }

  void add_stream(std::size_t row, const std::string& name, std::vector<Piece> pieces) {
    std::stable_sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) {
      return std::pair(span(a.task).start, span(a.task).end) < std::pair(span(b.task).start, span(b.task).end);
    });
    rows_.streams[row].name = name;
    for (const Piece& piece : pieces) {
      const bool layer = piece.activity == Activity::Backward || piece.activity == Activity::Forward;
      places_[piece.task] = {row, rows_.streams[row].bars.size()};
      rows_.streams[row].bars.push_back(
          bar_of(piece.task, piece.activity,
                 layer ? outcome_.scenario.profile.layers[piece.item].name : name_of(piece.item), piece.item));
    }
  }

  void add_collective(std::size_t index) {
    const std::size_t block = index % unrolled_.blocks, stage = index / unrolled_.blocks;
    const Activity activity = unrolled_.stages == 1 ? Activity::Collective
                              : stage == 0          ? Activity::ReduceScatter
                                                    : Activity::AllGather;
    const BarPlace place = take_lane(bar_of(unrolled_.block(index), activity, name_of(block), block));
    const Plan& plan = result_.plan;
    const Profile& profile = outcome_.scenario.profile;
    if (stage == 0) {
      const auto made = [&](std::size_t c) {
        return unrolled_.encodes ? unrolled_.encode(c, block)
                                 : unrolled_.backward(c, ready_layer(plan, plan.blocks[block], profile));
      };
      std::size_t last = 0;
      for (std::size_t c = 1; c < unrolled_.classes; ++c)
        if (span(made(c)).end > span(made(last)).end) last = c;
      rows_.made.push_back({places_[made(last)], place});
    }
    if (stage + 1 == unrolled_.stages) {
      const TaskId after =
          unrolled_.decodes
              ? unrolled_.decode(0, block)
              : unrolled_.forward(0, plan.barrier == Barrier::Iteration ? 0 : first_layer(plan.blocks[block], profile));
      rows_.gates.push_back({place, places_[after]});
    }
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
  std::vector<BarPlace> places_;  // by task; of those on streams
  TimelineRows rows_;
};

}  // namespace

TimelineRows timeline_rows(const Outcome& outcome, const Episode& episode) { return RowMaker(outcome, episode).make(); }

}  // namespace allreplay
