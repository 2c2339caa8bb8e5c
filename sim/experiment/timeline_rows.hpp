// A replayed iteration as people look at it: rows of bars. The trace for Perfetto and the pictures are drawn from
// these.
#pragma once

#include <string>
#include <vector>

#include "sim/experiment/report.hpp"

namespace allreplay {

enum class Activity : std::uint8_t { Backward, Forward, AllReduce, ReduceScatter, AllGather };

struct Bar {
  Activity activity = Activity::Backward;
  std::string name;                 ///< "conv1", "block 3 (fc.weight, fc.bias)"
  std::size_t item = 0;             ///< the layer, from 0 at the input; or the plan's block
  Time ready{0}, start{0}, end{0};  ///< on the common clock of all iterations
};

struct TimelineRow {
  std::string name;       ///< "3 workers like worker 0", "worker 1 (x1.5 as slow)", "collectives"
  std::vector<Bar> bars;  ///< none overlaps another; in order of time
};

/// Bar `bar` of row `row`.
struct BarPlace {
  std::size_t row = 0, bar = 0;
};

/// What one bar waits for in another row.
struct Gate {
  BarPlace before, after;
};

struct TimelineRows {
  std::vector<TimelineRow> compute;  ///< one per class of workers: B_L … B_1, F_1 … F_L
  std::vector<TimelineRow> network;  ///< as many as blocks are ever in flight together, the first that is free first
  std::vector<Gate> made;   ///< from the backward task that makes a block ready on the last class to its collective
  std::vector<Gate> gates;  ///< from a collective to the forward task (of class 0) that waits for its end
};

/// The bars of one of the result's episodes.
TimelineRows timeline_rows(const Outcome& outcome, const Episode& episode);

}  // namespace allreplay
