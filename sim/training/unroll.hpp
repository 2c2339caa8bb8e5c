// A plan unrolled into the tasks of one period of its program, each labelled with what it is.
//
// One period is enough where no transfer is in flight at its start: then all that is left of the past is how far the
// workers are apart, and the lead-in tasks carry that from one period to the next. Plans are made so (Plan::program),
// and uncovered() complains of transfers that nothing in the period waits for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/engine/cycles.hpp"
#include "sim/network/fabric.hpp"
#include "sim/schedule/codec.hpp"
#include "sim/schedule/plan.hpp"
#include "sim/training/worker_class.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// What a task is. Everything that reads a timeline reads these.
struct Label {
  Activity kind = Activity::LeadIn;
  std::uint32_t worker_class = 0;  ///< whose; 0 for transfers, which are everybody's, and for what all wait for
  std::uint32_t item = 0;          ///< as in Work; of the codec the block; of transfers and their waits the transfer
  std::uint32_t micro_batch = 0;
};

struct Unrolled {
  TaskGraph graph;
  std::vector<Label> labels;     ///< by task
  std::vector<Carried> carried;  ///< into the period that follows
  std::vector<Time> nominal;  ///< by task: how long it takes a worker that nothing slows; 0 for lead-ins and transfers
  std::size_t classes = 0;
  std::vector<TaskId> lead_ins;  ///< by class; and one past the last class's program
  std::size_t lanes = 0;
  std::size_t transfers = 0;
  bool decodes = false;  ///< apart from the encoding
  bool beside = false;   ///< encoding and decoding have a stream of their own
  bool ticks = false;    ///< some lane looks for what is ready at ticks only
  bool per_rank_start =
      false;  ///< each class starts a transfer when it is ready itself (rendezvous.hpp), not all together

  // Tasks: each class's lead-in and program; the transfers; their ticks and arrivals; each class's encodings and
  // decodings.
  TaskId lead_in(std::size_t worker_class) const { return lead_ins[worker_class]; }
  /// The length of its program.
  std::size_t works(std::size_t worker_class) const { return lead_ins[worker_class + 1] - lead_ins[worker_class] - 1; }
  TaskId work(std::size_t worker_class, std::size_t place) const {
    return lead_in(worker_class) + static_cast<TaskId>(1 + place);
  }
  TaskId last_work(std::size_t worker_class) const { return work(worker_class, works(worker_class) - 1); }
  TaskId transfer(std::size_t index) const { return lead_in(classes) + static_cast<TaskId>(index); }

  // Queues: one compute stream per class, then that of arrivals where classes start apart, then the lanes, then one
  // codec stream per class where it is beside, then the clock where there are ticks.
  QueueId stream(std::size_t worker_class) const { return static_cast<QueueId>(worker_class); }
  QueueId arrivals() const { return static_cast<QueueId>(classes); }
  QueueId lane(std::size_t index) const { return static_cast<QueueId>(classes + (per_rank_start ? 1 : 0) + index); }
  QueueId codec_stream(std::size_t worker_class) const {
    return beside ? lane(lanes + worker_class) : stream(worker_class);
  }
  QueueId clock() const { return lane(lanes + (beside ? classes : 0)); }
};

/// Durations of compute and codec tasks are those of each class's profile and slowdown; the lead-ins last no time.
/// `shards`: among how many the state is shared out. `fabric`: numbers the transfers' calls; null: nobody asks.
/// `per_rank_start`: classes start transfers apart; where there is but one, that is together. REQUIRES: the fabric
/// offers the plan's calls.
Unrolled unroll(const Profile& profile, const Plan& plan, const std::vector<WorkerClass>& classes,
                const Fabric* fabric = nullptr, const std::optional<Compression>& compression = std::nullopt,
                std::int64_t shards = 1, bool per_rank_start = false);

/// Of the compute streams `on` by what a network carries.
Influence felt(const Interference& interference, std::uint32_t network, std::vector<std::uint32_t> on);

/// What an unrolled plan runs on, idle: streams first, by class, then what carries its lanes: `channels` by
/// Lane::channel, or one that all share. `streams` is filled with what serves the workers; ticks are the clock's.
/// `interference`: of all workers by the first channel. REQUIRES: `streams`, `clock` and the channels outlive it.
System system_of(const Unrolled& unrolled, const Plan& plan, std::vector<Stream>& streams, Clock& clock,
                 const std::vector<ServerUse>& channels,
                 const std::optional<Interference>& interference = std::nullopt);

}  // namespace allreplay
