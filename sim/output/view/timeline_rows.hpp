// Turns a replayed iteration into rows of bars, from which pictures and traces for Perfetto are made.
#pragma once

#include <string>
#include <vector>

#include "sim/output/report/report.hpp"

namespace allreplay {

struct Bar {
  Activity activity = Activity::Backward;  ///< CopyOut for all copies
  std::string name;                        ///< "conv1", "block 3 (fc.weight, fc.bias)"
  std::string tensors;                     ///< for blocks: "fc.weight, fc.bias"
  /// The layer, from 0 at the input; for transfers the plan's block, for passes the chunk, for collectives inside
  /// layers Payload::just_bytes.
  std::size_t item = 0;
  std::uint32_t micro_batch = 0;    ///< from 0
  Bytes bytes = 0;                  ///< for collectives: bytes sent, after compression
  Time ready{0}, start{0}, end{0};  ///< on the common clock of all iterations
  bool in_pair = false;             ///< belongs to one of two passes that run concurrently (WorkPair)
};

struct TimelineRow {
  std::string name;       ///< "3 workers like worker 0", "worker 1 (x1.5 as slow)", "collectives", "gather 2"
  std::vector<Bar> bars;  ///< in order of time, without overlaps, except of two passes in a pair
  // Only for rows of the network:
  std::uint32_t lane = 0;          ///< the plan's lane; from their number on, the lanes of token exchanges by rank
  std::uint32_t from = 0, to = 0;  ///< in a pipeline: the rows of `streams` that take part; sender and receiver
};

struct BarPlace {
  std::size_t row = 0, bar = 0;
};

/// A dependency: bar `after` waits for bar `before` in another row.
struct Arrow {
  BarPlace before, after;
};

/// A worker's memory, on the common clock.
struct MemoryCurve {
  std::size_t row = 0;  ///< the worker's row in `streams`
  std::vector<MemoryPoint> points;
};

struct TimelineRows {
  /// A compute stream per class of workers: the program with encodings and decodings, and the collectives inside layers
  /// (parts_of()). If codecs run on streams of their own, these follow, one per class. Copies that take no time are
  /// left out.
  std::vector<TimelineRow> streams;
  /// In a pipeline, by rank: its passes ("1F0") and updates. A gap between layers splits a pass into several bars, but
  /// not in a pair, where a pass lasts until its last token exchange has ended.
  std::vector<TimelineRow> passes;
  /// The rows of each lane: as many as it ever has blocks in flight. A block takes the lane's first free row.
  std::vector<TimelineRow> network;
  std::vector<Arrow> made;   ///< to a collective, from the bar in `streams` that made its block ready on the last class
  std::vector<Arrow> gates;  ///< from a collective to the bar in `streams` that waits for it, on class 0 or its rank
  /// The worker that needs most memory, or each rank of a pipeline. Only for the last episode, and if the plan shards
  /// or the profile has activations.
  std::vector<MemoryCurve> memory;
  /// The number shown for the first micro-batch: 1; in a pipeline 0, as in the rows of its schedule.
  std::uint32_t first_micro_batch = 1;
};

/// Returns the rows of one of the outcome's episodes.
TimelineRows timeline_rows(const Outcome& outcome, const Episode& episode);

}  // namespace allreplay
