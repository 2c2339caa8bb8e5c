// Unrolls a plan into the labelled tasks of one period of its program.
//
// One period is enough if no transfer is in flight at its start: then the next period depends only on the offsets
// between workers, which the lead-in tasks represent. Plans are made like this (Role), and find_plan_error() rejects
// transfers that nothing in the period waits for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/inputs/cluster/cluster.hpp"
#include "sim/inputs/workload/profile.hpp"
#include "sim/plans/schedule/codec.hpp"
#include "sim/plans/schedule/plan.hpp"
#include "sim/replay/engine/cycles.hpp"
#include "sim/replay/network/fabric.hpp"
#include "sim/replay/training/worker_class.hpp"

namespace allreplay {

/// Describes a task. Readers of timelines use only labels and edges.
struct Label {
  Activity kind = Activity::LeadIn;
  std::uint32_t worker_class = 0;  ///< 0 for transfers and other tasks of all classes
  std::uint32_t item = 0;  ///< as in Work; of the codec the block; for transfers, ticks and arrivals the transfer
  std::uint32_t micro_batch = 0;
  bool in_pair = false;  ///< a work in a WorkPair: its time is without its token exchanges
};

/// The token exchanges of a layer's pass, one after another.
struct PassExchanges {
  Time total{0};           ///< their part of the pass's time
  std::vector<Time> each;  ///< without those that take no time
};
struct TokenExchanges {
  std::vector<PassExchanges> forward, backward;  ///< by layer

  const PassExchanges& of(Activity pass, LayerId layer) const {
    return (pass == Activity::Forward ? forward : backward)[layer];
  }
};

struct Unrolled {
  TaskGraph graph;
  std::vector<Label> labels;     ///< by task
  std::vector<Carried> carried;  ///< edges into the next period
  std::vector<Time> nominal;     ///< by task: its time on a worker without slowdown; 0 for lead-ins and transfers
  std::size_t classes = 0;
  std::vector<TaskId> lead_ins;  ///< by class; finally one past the last class's program
  std::size_t lanes = 0;
  std::size_t transfers = 0;
  bool decodes = false;             ///< decoding has tasks separate from encoding
  bool separate_codec = false;      ///< encoding and decoding have a separate stream
  bool ticks = false;               ///< some lane has ticks
  bool pairs = false;               ///< some class runs two works concurrently
  std::vector<TaskId> exchange_of;  ///< by token exchange: the work that it belongs to
  std::vector<TaskId> ends;  ///< by work: the task that ends it, such as a token exchange; empty: the work itself
  /// Each class starts a transfer when it is ready itself (rendezvous.hpp), instead of all together.
  bool per_rank_start = false;

  // Tasks, in this order: each class's lead-in and program; transfers; ticks and arrivals; each class's codec tasks;
  // token exchanges.
  TaskId lead_in(std::size_t worker_class) const { return lead_ins[worker_class]; }
  /// The length of the class's program.
  std::size_t works(std::size_t worker_class) const { return lead_ins[worker_class + 1] - lead_ins[worker_class] - 1; }
  TaskId work(std::size_t worker_class, std::size_t place) const {
    return lead_in(worker_class) + static_cast<TaskId>(1 + place);
  }
  TaskId last_work(std::size_t worker_class) const { return work(worker_class, works(worker_class) - 1); }
  TaskId end_of(TaskId work) const { return ends.empty() ? work : ends[work]; }
  TaskId transfer(std::size_t index) const { return lead_in(classes) + static_cast<TaskId>(index); }
  TaskId exchange(std::size_t index) const { return static_cast<TaskId>(labels.size() - exchange_of.size() + index); }

  // Queues, in this order: a compute stream per class; arrivals, with per_rank_start; the lanes; a codec stream per
  // class, with `separate_codec`; the clock, with ticks; with pairs a lane of token exchanges per class.
  QueueId stream(std::size_t worker_class) const { return static_cast<QueueId>(worker_class); }
  QueueId arrivals() const { return static_cast<QueueId>(classes); }
  QueueId lane(std::size_t index) const { return static_cast<QueueId>(classes + (per_rank_start ? 1 : 0) + index); }
  QueueId codec_stream(std::size_t worker_class) const {
    return separate_codec ? lane(lanes + worker_class) : stream(worker_class);
  }
  QueueId clock() const { return lane(lanes + (separate_codec ? classes : 0)); }
  QueueId exchanges(std::size_t worker_class) const {
    return static_cast<QueueId>(clock() + (ticks ? 1 : 0) + worker_class);
  }
};

/// Unrolls a plan. Compute and codec tasks last as long as each class's profile and slowdown say; lead-ins take no
/// time. `shards`: number of workers that share the state. `fabric`: numbers the transfers' calls; null: no numbers.
/// `per_rank_start`: several classes start transfers separately. `exchanges`: the parts of the passes' times that run
/// in lanes of their own within pairs; null: none. REQUIRES: the fabric offers the plan's calls.
Unrolled unroll(const Profile& profile, const Plan& plan, const std::vector<WorkerClass>& classes,
                const Fabric* fabric = nullptr, const std::optional<Compression>& compression = std::nullopt,
                std::int64_t shards = 1, bool per_rank_start = false, const TokenExchanges* exchanges = nullptr);

/// Returns the influence of server `network` on the compute streams `on`.
Influence felt(const Interference& interference, std::uint32_t network, std::vector<std::uint32_t> on);

/// Returns the idle system that an unrolled plan runs on. Its servers are first streams, by class, which `streams` is
/// filled with, then `channels`, by Lane::channel or a single one for all lanes; the streams of lanes that compute are
/// the last ones in `streams`; `clock` serves ticks. `interference`:
/// the first channel slows all workers. REQUIRES: `streams`, `clock` and the channels outlive it.
System system_of(const Unrolled& unrolled, const Plan& plan, std::vector<Stream>& streams, Clock& clock,
                 const std::vector<ServerUse>& channels,
                 const std::optional<Interference>& interference = std::nullopt);

}  // namespace allreplay
