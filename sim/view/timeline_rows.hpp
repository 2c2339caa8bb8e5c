// A replayed iteration as people look at it: rows of bars. The trace for Perfetto and the pictures are drawn from
// these.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace allreplay {

struct Bar {
  Activity activity = Activity::Backward;  ///< of copies CopyOut
  std::string name;                        ///< "conv1", "block 3 (fc.weight, fc.bias)"
  std::string tensors;                     ///< of a block: "fc.weight, fc.bias"
  std::size_t item = 0;             ///< the layer, from 0 at the input; or the plan's block; or, of a pass, the chunk
  std::uint32_t micro_batch = 0;    ///< the micro-batch, from 0
  Bytes bytes = 0;                  ///< of a collective, as they travel
  Time ready{0}, start{0}, end{0};  ///< on the common clock of all iterations
};

struct TimelineRow {
  std::string name;       ///< "3 workers like worker 0", "worker 1 (x1.5 as slow)", "collectives", "gather 2"
  std::vector<Bar> bars;  ///< none overlaps another; in order of time
  // Of rows of the network:
  std::uint32_t lane = 0;          ///< of the plan
  std::uint32_t from = 0, to = 0;  ///< rows of `streams`: in a pipeline whose transfers they are; of sends, who sends
};

/// Bar `bar` of row `row`.
struct BarPlace {
  std::size_t row = 0, bar = 0;
};

/// What one bar waits for in another row.
struct Arrow {
  BarPlace before, after;
};

/// A worker's memory, on the common clock.
struct MemoryCurve {
  std::size_t row = 0;  ///< of `streams`: whose
  std::vector<MemoryPoint> points;
};

struct TimelineRows {
  /// One compute stream per class of workers: the program, encodings and decodings between. Where the codec has streams
  /// of its own, one more per class, after all of those. Copies that take no time are left out.
  std::vector<TimelineRow> streams;
  /// In a pipeline, by rank: its passes ("1F0"), each as long as its layers follow each other without a gap, and its
  /// updates.
  std::vector<TimelineRow> passes;
  /// Lane by lane, as many as blocks are ever in flight together; each takes the lane's first free one.
  std::vector<TimelineRow> network;
  std::vector<Arrow> made;   ///< from what makes a block ready on the last class, in `streams`, to its collective
  std::vector<Arrow> gates;  ///< from a collective to what waits for it, in `streams`: on class 0, or on its rank
  /// Of the worker that needs most, in a pipeline of each rank; of the last episode, where the plan shards or the
  /// profile knows activations.
  std::vector<MemoryCurve> memory;
  /// What people call the first micro-batch: 1, in a pipeline 0, as its schedule's rows do.
  std::uint32_t first_micro_batch = 1;
};

/// The bars of one of the result's episodes.
TimelineRows timeline_rows(const Outcome& outcome, const Episode& episode);

}  // namespace allreplay
