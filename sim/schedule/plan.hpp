// A plan: which transfers a training step makes, what each waits for and what waits for it, and how they queue.
// It has no clock: what happens when is the engine's.
#pragma once

#include <cassert>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/collective/call.hpp"
#include "sim/core/admission.hpp"
#include "sim/core/time.hpp"
#include "sim/core/units.hpp"
#include "sim/schedule/activity.hpp"
#include "sim/schedule/bucket_schedule.hpp"
#include "sim/schedule/sharding_config.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// A task of the compute stream.
struct Work {
  Activity kind = Activity::Backward;
  std::uint32_t item = 0;         ///< the layer; of copies the block; of an update the layer, or `everything`
  std::uint32_t micro_batch = 0;  ///< the micro-batch, from 0
  bool operator==(const Work&) const = default;
};
inline constexpr std::uint32_t everything = 0xffffffff;

/// What a transfer carries: slices of what its kind says, or just bytes.
struct Payload {
  enum class Kind : std::uint8_t { Gradients, Parameters, Activations };
  static constexpr std::uint32_t just_bytes = 0xffffffff;
  Kind kind = Kind::Gradients;
  std::uint32_t block = just_bytes;  ///< of Plan::blocks
  bool operator==(const Payload&) const = default;
};

/// A work of a role's program: its end where it comes before, its start where it comes after.
struct WorkPoint {
  std::uint32_t place = 0;  ///< in the role's program
  std::uint32_t role = 0;   ///< of Plan::roles
  auto operator<=>(const WorkPoint&) const = default;
};

/// One collective, or one send, in each group of a family.
struct Transfer {
  CollectiveOp op = CollectiveOp::AllReduce;
  std::uint32_t group = group_all;  ///< of Plan::groups
  Payload payload;
  WireBytes bytes = 0;            ///< in each of the groups
  std::uint32_t lane = 0;         ///< of Plan::lanes
  std::int64_t priority = 0;      ///< for Order::Priority: smaller goes first
  std::uint32_t micro_batch = 0;  ///< whose gradients, or for whose layers
  /// Where its lane has ticks: the work from whose end they are counted; none: from the start of the program.
  std::optional<WorkPoint> ticks_from = {};
  /// Of gathered parameters: the work after which they are freed; none: their layers' last before the next gather.
  std::optional<WorkPoint> held_until = {};
  bool operator==(const Transfer&) const = default;
};

/// How the transfers of one communicator queue.
struct Lane {
  std::string name;
  Order order = Order::FirstReady;
  Window window;
  Time tick{0};  ///< if positive, transfers become ready only at its multiples after the start of the program
  std::uint32_t channel = 0;  ///< lanes of different ones share nothing in `alpha-beta`; follows from what they carry
  bool operator==(const Lane&) const = default;
};

/// A transfer: its end where it comes before, its start where it comes after.
struct TransferPoint {
  std::uint32_t index = 0;  ///< of Plan::transfers
  auto operator<=>(const TransferPoint&) const = default;
};
/// The start of a role's program, which only comes before.
struct StartPoint {
  std::uint32_t role = 0;
  auto operator<=>(const StartPoint&) const = default;
};
/// What a gate joins: never a time.
using PlanPoint = std::variant<WorkPoint, TransferPoint, StartPoint>;

inline PlanPoint work(std::size_t place, std::uint32_t role = 0) {
  return WorkPoint{static_cast<std::uint32_t>(place), role};
}
inline PlanPoint transfer(std::size_t index) { return TransferPoint{static_cast<std::uint32_t>(index)}; }
inline PlanPoint start_of_program(std::uint32_t role = 0) { return StartPoint{role}; }

/// `after` starts once `before` has ended: on every worker of the role that one of them names, where the other is a
/// transfer.
struct Gate {
  PlanPoint before, after;
  bool next = false;  ///< `after` is of the next iteration
  auto operator<=>(const Gate&) const = default;

  const WorkPoint* work_before() const { return std::get_if<WorkPoint>(&before); }
  const WorkPoint* work_after() const { return std::get_if<WorkPoint>(&after); }
  const TransferPoint* transfer_before() const { return std::get_if<TransferPoint>(&before); }
  const TransferPoint* transfer_after() const { return std::get_if<TransferPoint>(&after); }
};

/// Layers first … last.
struct Unit {
  LayerId first = 0, last = 0;
  bool operator==(const Unit&) const = default;
};

/// Where the passes of a layer or unit begin and end in a program.
struct ProgramRange {
  std::size_t first = 0, last = 0;
};

/// What a worker holds, where a framework has its own rules (docs/sharding.md).
struct MemoryPolicy {
  std::vector<Unit> units;                ///< of layers that are gathered and reduced as one; none: each layer alone
  std::vector<std::uint32_t> root;        ///< of `units`: those that are one together, in order; none, or at least two
  Bytes parameter = 0;                    ///< bytes of an element of parameters; 0: as they travel
  Bytes gradient = 0;                     ///< likewise of gradients
  bool whole_gradients = false;           ///< unsharded, from one micro-batch to the next
  std::int64_t reduce_buffer = -1;        ///< elements in reduction, instead of what the timeline says; -1: that
  std::optional<std::uint32_t> resident;  ///< the block that is never freed: gathered once after each update
  /// Bytes that the optimizer's step takes for each element that a worker updates, in addition to the state; none:
  /// what PyTorch's Adam takes, where that runs.
  std::optional<Bytes> step = {};
  std::int64_t step_elements = 0;  ///< the step goes by pieces of so many elements; 0: in one
  bool operator==(const MemoryPolicy&) const = default;
};

/// Workers that run one program: the order of work on their compute streams, one period of it, from an instant at which
/// no transfer is in flight; in a pipeline, where there is no such instant, from their update.
struct Role {
  std::string name;
  std::vector<Work> program;
  std::vector<std::int64_t> workers = {};  ///< none: everybody
  bool operator==(const Role&) const = default;
};

/// What the plan of a pipeline says beyond its roles, which are the ranks. Of how many workers each is follows from
/// those who run it.
struct PlannedPipeline {
  std::int64_t tp = 1, cp = 1, ep = 1;   ///< degrees
  std::string schedule;                  ///< its name, for tables
  std::vector<std::int64_t> layers;      ///< of each chunk
  Barrier barrier = Barrier::Iteration;  ///< what a layer's first forward pass waits for
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
  std::optional<PlannedPipeline> pipeline;  ///< roles are ranks of a pipeline, each with layers of its own
  /// Pipelines: all roles start an iteration at once, when all that came before it has ended.
  bool together = false;
  std::optional<double> copy_rate;  ///< of CopyOut and CopyIn, bytes per second; none: they take no time
  MemoryPolicy memory_policy;
  std::optional<QueueingPolicy>
      queueing;  ///< what expand() made the transfers of; none in plans that were made without it

  /// What everybody runs. REQUIRES: there is one role.
  const std::vector<Work>& program() const {
    assert(roles.size() == 1);
    return roles.front().program;
  }
  std::vector<Work>& program() {
    assert(roles.size() == 1);
    return roles.front().program;
  }

  /// The bytes of the transfer's block. REQUIRES: it has one.
  const Block& block_of(const Transfer& transfer) const {
    assert(transfer.payload.block != Payload::just_bytes);
    return blocks[transfer.payload.block];
  }
};

/// What a transfer of these puts on the wire in each group.
WireBytes wire_bytes(const Plan& plan, std::uint32_t group, const Payload& payload, const Profile& profile);

/// Where a work stands in a program.
class ProgramIndex {
 public:
  explicit ProgramIndex(const std::vector<Work>& program);

  /// REQUIRES: it is there.
  std::size_t operator()(Activity kind, std::uint32_t item, std::int64_t micro_batch) const;
  std::optional<std::size_t> find(const Work& work) const;

 private:
  static constexpr std::uint32_t nowhere = 0xffffffff;
  struct Table {
    std::size_t items = 0;              // and one more, for `everything`
    std::vector<std::uint32_t> places;  // by micro-batch and item
  };
  std::vector<Table> tables_;  // by kind
};

/// One iteration from the backward pass of the first micro-batch that is reduced: B_L … B_1, the update, F_1 … F_L,
/// with the other micro-batches around it. No block can be in flight at its start: all that was sent before is awaited
/// by the update, or by a layer of the next iteration's first forward pass, and that comes before.
std::vector<Work> one_iteration(const Profile& profile, const ShardingConfig& sharding = {},
                                Barrier barrier = Barrier::Iteration);

/// The same iteration, cut so that it begins with the backward pass of its first micro-batch and ends with the forward
/// pass of the next one. Ticks are still counted from the work that the plan's program begins with. Returns the plan
/// unchanged if its program begins with the first micro-batch. REQUIRES: one role, and no transfer that is in flight
/// at that backward pass, as in expand()'s plans.
Plan from_first_micro_batch(Plan plan);

/// Writes out what a schedule means. Unsharded: transfers in one lane, an all-reduce a block, or a reduce-scatter and
/// an all-gather. Reduce-scatters come first, in the list and by priority, so that no all-gather delays one. Sharded
/// (sharding.zero is 1 or 2): a reduce-scatter a block, in groups an all-reduce of the shard, and after the update an
/// all-gather a block, each kind in a lane of its own.
Plan expand(BucketSchedule schedule, const Profile& profile, const ShardingConfig& sharding = {});

/// The schedule that expand() wrote out. REQUIRES: plan.queueing.
BucketSchedule bucket_schedule_of(Plan plan);

/// Whether any transfer is half of an all-reduce.
bool uses_halves(const Plan& plan);

/// What the plan asks of a network, each call once.
std::vector<Call> calls_of(const Plan& plan);

/// "fc.weight, fc.bias", at most three of them.
std::string names_of(const Block& block, const Profile& profile);
/// "transfer 3 (all-reduce of fc.weight, fc.bias)", "transfer 4 (send 0 to 1)".
std::string describe_transfer(const Plan& plan, std::size_t transfer, const Profile& profile);
/// "block 3 (fc.weight, fc.bias)": how people read a block.
std::string describe(const Plan& plan, std::size_t block, const Profile& profile);

std::string to_string(Order order);
std::string to_string(Barrier barrier);

}  // namespace allreplay
