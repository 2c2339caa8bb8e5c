// A replayed iteration as people look at it: rows of bars. The trace for Perfetto and the pictures are drawn from
// these.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace allreplay {

enum class Activity : std::uint8_t {
  Backward,
  Forward,
  Update,
  Copy,  ///< out of or into a buffer of a collective
  Encode,
  Decode,
  Codec,       ///< encoding and decoding in one
  Collective,  ///< in one stage: an all-reduce, or what carries a codec
  AllReduce,   ///< beside reduce-scatters and all-gathers, of plans that shard
  ReduceScatter,
  AllGather,
  Send,  ///< between ranks of a pipeline
};

struct Bar {
  Activity activity = Activity::Backward;
  std::string name;                 ///< "conv1", "block 3 (fc.weight, fc.bias)"
  std::string tensors;              ///< of a block: "fc.weight, fc.bias"
  std::size_t item = 0;             ///< the layer, from 0 at the input; or the plan's block
  std::uint32_t micro_batch = 0;    ///< the micro-batch, from 0
  Bytes bytes = 0;                  ///< of a collective, as they travel
  Time ready{0}, start{0}, end{0};  ///< on the common clock of all iterations
};

struct TimelineRow {
  std::string name;        ///< "3 workers like worker 0", "worker 1 (x1.5 as slow)", "collectives", "gather 2"
  std::vector<Bar> bars;   ///< none overlaps another; in order of time
  std::uint32_t lane = 0;  ///< of the plan; of rows of the network
};

/// Bar `bar` of row `row`.
struct BarPlace {
  std::size_t row = 0, bar = 0;
};

/// What one bar waits for in another row.
struct Arrow {
  BarPlace before, after;
};

struct TimelineRows {
  /// One compute stream per class of workers: the program, encodings and decodings between. Where the codec has streams
  /// of its own, one more per class, after all of those. Copies that take no time are left out.
  std::vector<TimelineRow> streams;
  /// Lane by lane, as many as blocks are ever in flight together; each takes the lane's first free one.
  std::vector<TimelineRow> network;
  std::vector<Arrow> made;   ///< from what makes a block ready on the last class, in `streams`, to its collective
  std::vector<Arrow> gates;  ///< from a collective to what waits for it on class 0, in `streams`
  /// A worker's memory, on the common clock: of the last episode, where the plan shards or the profile knows
  /// activations.
  std::vector<MemoryPoint> memory;
};

/// The bars of one of the result's episodes.
TimelineRows timeline_rows(const Outcome& outcome, const Episode& episode);

}  // namespace allreplay
