// A plan unrolled into the tasks of one iteration, from the start of the backward pass to the start of the next.
//
// One iteration is enough. The last layer's forward comes after all others', and those wait for every block, so
// when any worker starts its next backward pass the network is idle and all that is left of the past is how far
// the workers are apart. That is what the lead-in tasks carry from one iteration to the next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/schedule/codec.hpp"
#include "sim/schedule/plan.hpp"
#include "sim/training/worker_class.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

struct Unrolled {
  TaskGraph graph;
  std::size_t classes = 0;
  std::size_t layers = 0;
  std::size_t blocks = 0;
  std::size_t stages = 1;  ///< of each block
  bool encodes = false;    ///< each block, on every class of workers
  bool decodes = false;    ///< likewise, apart from the encoding
  bool beside = false;     ///< encoding and decoding have a stream of their own

  // Each class: its lead-in, B_L … B_1, F_1 … F_L. Then the first stages of all blocks, then the second ones. Then the
  // encodings of each class, and the decodings.
  TaskId lead_in(std::size_t worker_class) const { return static_cast<TaskId>(worker_class * (2 * layers + 1)); }
  TaskId backward(std::size_t worker_class, std::size_t layer) const {
    return lead_in(worker_class) + static_cast<TaskId>(layers - layer);
  }
  TaskId forward(std::size_t worker_class, std::size_t layer) const {
    return lead_in(worker_class) + static_cast<TaskId>(layers + 1 + layer);
  }
  TaskId block(std::size_t index, std::size_t stage = 0) const {
    return lead_in(classes) + static_cast<TaskId>(stage * blocks + index);
  }
  TaskId encode(std::size_t worker_class, std::size_t index) const {
    return block(worker_class * blocks + index, stages);
  }
  TaskId decode(std::size_t worker_class, std::size_t index) const {
    return encode(classes, 0) + encode(worker_class, index) - encode(0, 0);
  }
  std::size_t collectives() const { return stages * blocks; }

  // Resources: one compute stream per class, then the network, then one codec stream per class where it is beside.
  ResourceId stream(std::size_t worker_class) const { return static_cast<ResourceId>(worker_class); }
  ResourceId network() const { return static_cast<ResourceId>(classes); }
  ResourceId codec_stream(std::size_t worker_class) const {
    return static_cast<ResourceId>(beside ? classes + 1 + worker_class : worker_class);
  }
};

/// Durations of compute and codec tasks are those of each class's slowdown; the lead-ins last no time.
Unrolled unroll(const Profile& profile, const Plan& plan, const std::vector<WorkerClass>& classes,
                const std::optional<Compression>& compression = std::nullopt);

/// The resources of an unrolled plan, idle, in the order of their ids. `streams` is filled with what serves all but the
/// network. Ticks of the plan count from `origin`. REQUIRES: `streams` and `network` outlive them.
std::vector<Resource> resources_of(const Unrolled& unrolled, const Plan& plan, std::vector<Stream>& streams,
                                   Server& network, Time origin);

/// "block 3 (fc.weight, fc.bias)": how people read a block.
std::string describe(const Block& block, const Profile& profile, std::size_t index);

}  // namespace allreplay
