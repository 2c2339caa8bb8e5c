// A plan: the transfers of a training step, what each waits for and what waits for it, and how they queue. It has no
// clock: the engine decides when things happen.
#pragma once

#include <cassert>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/core/admission.hpp"
#include "sim/base/core/time.hpp"
#include "sim/base/core/units.hpp"
#include "sim/inputs/workload/profile.hpp"
#include "sim/plans/collective/call.hpp"
#include "sim/plans/schedule/activity.hpp"
#include "sim/plans/schedule/bucket_schedule.hpp"
#include "sim/plans/schedule/sharding_config.hpp"

namespace allreplay {

/// A task of a compute stream.
struct Work {
  Activity kind = Activity::Backward;
  std::uint32_t item = 0;         ///< the layer; for copies the block; for an update the layer or `everything`
  std::uint32_t micro_batch = 0;  ///< from 0
  bool operator==(const Work&) const = default;
};
inline constexpr std::uint32_t everything = 0xffffffff;

/// A quantised number format: `bits` for each element, and `scale_bytes` for each `block` of elements. Values and
/// scales may travel separately: a format without bits is that of scales, one without block that of values.
struct WireType {
  std::uint8_t bits = 0;
  std::uint8_t scale_bytes = 0;
  std::uint32_t block = 0;
  bool operator==(const WireType&) const = default;

  bool quantises() const { return bits > 0 || block > 0; }
  bool only_scales() const { return bits == 0 && block > 0; }
};

/// The data of a transfer: a block's gradients or parameters, or only a number of bytes.
struct Payload {
  enum class Kind : std::uint8_t {
    Gradients,
    Parameters,
    Activations,
    Secondary,       ///< parameters, from the shards that their first release left (ZeRO++)
    Matrices,        ///< gradients of matrices, or their updates (Muon)
    PseudoGradient,  ///< the change of parameters since the last outer update, or parameters themselves (local SGD)
  };
  static constexpr std::uint32_t just_bytes = 0xffffffff;
  Kind kind = Kind::Gradients;
  std::uint32_t block = just_bytes;  ///< index into Plan::blocks
  WireType wire = {};                ///< the default: the elements as they are
  bool operator==(const Payload&) const = default;
};

/// A work as one side of a gate: its end if it is `before`, its start if it is `after`.
struct WorkPoint {
  std::uint32_t place = 0;  ///< index into the role's program
  std::uint32_t role = 0;   ///< index into Plan::roles
  bool computed = false;    ///< the end of its computing; its token exchange (WorkPair) may follow
  auto operator<=>(const WorkPoint&) const = default;
};

/// One collective, or one send, in each group of a family at the same time.
struct Transfer {
  CollectiveOp op = CollectiveOp::AllReduce;
  std::uint32_t group = group_all;  ///< index into Plan::groups
  Payload payload;
  WireBytes bytes = 0;            ///< on the wire, per group
  std::uint32_t lane = 0;         ///< index into Plan::lanes
  std::int64_t priority = 0;      ///< for Order::Priority: smaller goes first
  std::uint32_t micro_batch = 0;  ///< the one whose gradients are sent, or whose passes read the parameters
  /// If the lane has ticks: the work from whose end they are counted; none: the start of the program.
  std::optional<WorkPoint> ticks_from = {};
  /// The work after which gathered parameters are freed; none: the last of their layers before the next gather.
  std::optional<WorkPoint> held_until = {};
  /// Unless Transfer: no transfer, but a computation in its place, such as quantising. Its lane is a stream, and
  /// `bytes` are those of the gradients or parameters that it reads.
  Activity computes = Activity::Transfer;
  bool operator==(const Transfer&) const = default;

  bool travels() const { return computes == Activity::Transfer; }
};

/// A queue of transfers, such as those of one communicator.
struct Lane {
  std::string name;
  Order order = Order::FirstReady;
  Window window;
  Time tick{0};  ///< if positive, transfers become ready only at multiples of it after the start of the program
  std::uint32_t channel = 0;  ///< in `alpha-beta`, only lanes of the same channel share bandwidth
  bool stream = false;        ///< it computes (Transfer::computes), and does not use the network
  bool operator==(const Lane&) const = default;
};

/// A transfer as one side of a gate: its end if it is `before`, its start if it is `after`.
struct TransferPoint {
  std::uint32_t index = 0;  ///< index into Plan::transfers
  auto operator<=>(const TransferPoint&) const = default;
};
/// The start of a role's program; only as `before`.
struct StartPoint {
  std::uint32_t role = 0;
  auto operator<=>(const StartPoint&) const = default;
};
/// One side of a gate. It is never a time.
using PlanPoint = std::variant<WorkPoint, TransferPoint, StartPoint>;

inline PlanPoint work(std::size_t place, std::uint32_t role = 0) {
  return WorkPoint{static_cast<std::uint32_t>(place), role};
}
inline PlanPoint transfer(std::size_t index) { return TransferPoint{static_cast<std::uint32_t>(index)}; }
inline PlanPoint start_of_program(std::uint32_t role = 0) { return StartPoint{role}; }

/// `after` starts once `before` has ended; between a work and a transfer, on every worker of the work's role.
struct Gate {
  PlanPoint before, after;
  bool next = false;  ///< `after` belongs to the next iteration
  auto operator<=>(const Gate&) const = default;

  const WorkPoint* work_before() const { return std::get_if<WorkPoint>(&before); }
  const WorkPoint* work_after() const { return std::get_if<WorkPoint>(&after); }
  const TransferPoint* transfer_before() const { return std::get_if<TransferPoint>(&before); }
  const TransferPoint* transfer_after() const { return std::get_if<TransferPoint>(&after); }
};

/// Layers first … last, both included.
struct Unit {
  LayerId first = 0, last = 0;
  bool operator==(const Unit&) const = default;

  std::uint32_t layers() const { return last - first + 1; }
};

/// The first and last place of a pass of a layer or unit in a program.
struct ProgramRange {
  std::size_t first = 0, last = 0;
};

/// A framework's rules for keeping parameters and gradients in a worker's memory (docs/sharding.md).
struct MemoryPolicy {
  std::vector<Unit> units;                ///< layers gathered and reduced together; empty: each layer separately
  std::vector<std::uint32_t> root;        ///< indices of units that form one unit, in order; empty, or at least two
  Bytes parameter = 0;                    ///< bytes per parameter element; 0: as on the wire
  Bytes gradient = 0;                     ///< bytes per gradient element; 0: as on the wire
  bool whole_gradients = false;           ///< gradients are kept unsharded between micro-batches
  std::int64_t reduce_buffer = -1;        ///< elements of the reductions' buffer; -1: as the timeline shows
  std::optional<std::uint32_t> resident;  ///< a block that is never freed and is gathered once after each update
  /// Temporary bytes of the optimizer step per element that a worker updates; none: PyTorch's Adam's, if that runs.
  std::optional<Bytes> step = {};
  std::int64_t step_elements = 0;  ///< elements that one piece of the step updates; 0: all
  std::int64_t single_moment = 0;  ///< elements whose optimizer keeps no second moment (Muon's matrices)
  Bytes outer = 0;                 ///< bytes per element of the outer optimizer's state
  bool operator==(const MemoryPolicy&) const = default;
};

/// A forward and a backward action of a pipeline's rank that run concurrently as two chains, so that one computes while
/// the other exchanges tokens with experts. Both start when the work before the pair has ended; the work after it
/// starts when both have ended. Places in the program, where the forward action's works come first.
struct WorkPair {
  std::uint32_t forward = 0, backward = 0;  ///< the first work of each
  std::uint32_t end = 0;                    ///< one past the last work of the backward action
  bool operator==(const WorkPair&) const = default;
};

/// Workers that run the same program. The program is one period of the work on their compute streams. It starts at an
/// instant at which no transfer is in flight; in a pipeline, which has no such instant, with the update.
struct Role {
  std::string name;
  std::vector<Work> program;
  std::vector<std::int64_t> workers = {};  ///< empty: all
  std::vector<WorkPair> pairs = {};        ///< in order, without overlaps
  bool operator==(const Role&) const = default;
};

/// The additional parts of a pipeline's plan. Its roles are the ranks; dp follows from the number of workers.
struct PlannedPipeline {
  std::int64_t tp = 1, cp = 1, ep = 1;   ///< degrees
  std::string schedule;                  ///< its name, only shown
  std::vector<std::int64_t> layers;      ///< by chunk: number of layers
  Barrier barrier = Barrier::Iteration;  ///< the predecessors of the first forward pass
  bool ep_overlap = false;               ///< roles have pairs, in which token exchange overlaps computing
  bool operator==(const PlannedPipeline&) const = default;
};

struct Plan {
  std::string strategy;
  ShardingConfig sharding;
  std::vector<Role> roles = std::vector<Role>(1);
  std::vector<NamedGroup> groups = data_parallel_groups({});
  std::vector<Block> blocks;
  std::vector<Transfer> transfers;
  std::vector<Gate> gates;
  std::vector<Lane> lanes;
  std::optional<PlannedPipeline> pipeline;  ///< if present, roles are its ranks, each with its own layers
  /// Pipelines: all roles start an iteration together, after everything of the previous one has ended.
  bool together = false;
  std::optional<double> copy_rate;           ///< bytes per second of CopyOut and CopyIn; none: they take no time
  Time outer_update{0};                      ///< of OuterUpdate, for all elements
  std::optional<double> quantise_rate = {};  ///< bytes per second, before quantising; none: that takes no time
  MemoryPolicy memory_policy;
  std::optional<QueueingPolicy> queueing;  ///< of the schedule given to expand(); none: made without it

  /// The program of all workers. REQUIRES: there is one role.
  const std::vector<Work>& program() const {
    assert(roles.size() == 1);
    return roles.front().program;
  }
  std::vector<Work>& program() {
    assert(roles.size() == 1);
    return roles.front().program;
  }

  /// True if the transfer runs among workers that hold the same experts.
  bool is_among_experts(const Transfer& transfer) const {
    if (!sharding.has_expert_groups()) return false;
    return pipeline ? transfer.group >= roles.size() && transfer.group < 2 * roles.size()
                    : transfer.group == group_expert;
  }
  /// In a pipeline, the rank whose gradients or parameters the transfer carries; none for transfers between ranks.
  std::optional<std::uint32_t> rank_of(const Transfer& transfer) const {
    const auto ranks = static_cast<std::uint32_t>(roles.size());
    if (transfer.group < ranks) return transfer.group;
    return is_among_experts(transfer) ? std::optional(transfer.group - ranks) : std::nullopt;
  }

  /// REQUIRES: the transfer carries a block.
  const Block& block_of(const Transfer& transfer) const {
    assert(transfer.payload.block != Payload::just_bytes);
    return blocks[transfer.payload.block];
  }
};

std::int64_t elements_of(const Block& block, const Profile& profile);

/// Returns the bytes on the wire, per group, of a transfer with this payload.
WireBytes wire_bytes(const Plan& plan, std::uint32_t group, const Payload& payload, const Profile& profile);

/// Finds the place of a work in a program.
class ProgramIndex {
 public:
  explicit ProgramIndex(const std::vector<Work>& program);

  /// REQUIRES: the program contains the work.
  std::size_t operator()(Activity kind, std::uint32_t item, std::int64_t micro_batch) const;
  std::optional<std::size_t> find(const Work& work) const;

 private:
  static constexpr std::uint32_t nowhere = 0xffffffff;
  struct Table {
    std::size_t items = 0;              // plus one for `everything`
    std::vector<std::uint32_t> places;  // by micro-batch and item
  };
  std::vector<Table> tables_;  // by kind
};

/// Returns one iteration, starting with the backward pass of the first micro-batch that is reduced: B_L … B_1, the
/// update, F_1 … F_L, and the passes of the other micro-batches. No block is in flight at its start, since the update
/// or the layers of the first forward pass have waited for all earlier blocks.
std::vector<Work> one_iteration(const Profile& profile, const ShardingConfig& sharding = {},
                                Barrier barrier = Barrier::Iteration);

/// Rotates the program so that it begins with the backward pass of the first micro-batch and ends with the forward pass
/// of the next iteration's first one. Ticks are still counted from the original start. Returns the plan unchanged if it
/// already begins so. REQUIRES: one role, and no transfer in flight at that backward pass, as in expand()'s plans.
Plan from_first_micro_batch(Plan plan);

/// Adds the host's part of a step after each update of everything, or after the last layer's. REQUIRES:
/// !has_host_step(plan).
Plan with_host_step(Plan plan);
bool has_host_step(const Plan& plan);

/// Makes a plan of a schedule. Unsharded: one lane, and per block an all-reduce, or a reduce-scatter and an all-gather;
/// reduce-scatters come first, in the list and by priority, so that no all-gather delays one. Sharded (zero 1 or 2):
/// per block a reduce-scatter, if there are shard groups an all-reduce of the shard, and after the update an
/// all-gather; each kind has its own lane.
Plan expand(BucketSchedule schedule, const Profile& profile, const ShardingConfig& sharding = {});

/// Returns the schedule that was given to expand(). REQUIRES: plan.queueing.
BucketSchedule bucket_schedule_of(Plan plan);

/// True if any transfer is not a whole all-reduce.
bool uses_halves(const Plan& plan);

/// Returns the call that the transfer makes to a network. REQUIRES: it travels.
Call call_of(const Plan& plan, const Transfer& transfer);

/// Returns the distinct calls that the plan makes to a network.
std::vector<Call> calls_of(const Plan& plan);

/// "fc.weight, fc.bias", at most three names.
std::string names_of(const Block& block, const Profile& profile);
/// "transfer 3 (all-reduce of fc.weight, fc.bias)", "transfer 4 (send 0 to 1)".
std::string describe_transfer(const Plan& plan, std::size_t transfer, const Profile& profile);
/// "block 3 (fc.weight, fc.bias)".
std::string describe(const Plan& plan, std::size_t block, const Profile& profile);

std::string to_string(Order order);
std::string to_string(Barrier barrier);

}  // namespace allreplay
