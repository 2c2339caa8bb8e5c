// The table of strategies: pure functions from a profile and the cost of communication to a plan, and their options.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/inputs/workload/profile.hpp"
#include "sim/plans/schedule/codec.hpp"
#include "sim/plans/schedule/plan.hpp"
#include "sim/plans/schedule/sharding_options.hpp"

namespace allreplay {

/// us-byte: the order of tensors in a phase. All but the paper's choice are for experiments.
struct PhaseOrder {
  enum class Kind : std::uint8_t {
    Paper,       ///< first phase: Algorithm 2; second: Theorem 1
    Sequential,  ///< the input first
    Random,      ///< a random permutation
    Given,
  };
  Kind kind = Kind::Paper;
  std::uint64_t seed = 0;
  std::vector<TensorId> tensors;  ///< Given: all, the most urgent first
  SourceLocation place;           ///< of the list, for errors
};

/// mergecomp: how groups of tensors are chosen.
enum class Grouping : std::uint8_t {
  Search,   ///< Algorithm 2: adds groups as long as that helps, up to `groups`
  Optimal,  ///< the best partition into exactly `groups` groups
  Even,     ///< equal numbers of tensors, except for the remainder (the paper's naive partition)
};

/// The options of all strategies. Strategy::options lists those that a strategy reads.
struct StrategyOptions {
  ShardingConfig sharding;         ///< read by all strategies
  std::optional<Barrier> barrier;  ///< instead of the strategy's own

  std::optional<Bytes> bucket_cap;       ///< ddp: PyTorch's bucket_cap_mb; none: 25 MiB
  std::optional<Bytes> first_bucket;     ///< ddp: cap of the first bucket; none: bucket_cap if given, else 1 MiB
  std::optional<Bytes> threshold;        ///< horovod: HOROVOD_FUSION_THRESHOLD; dear: its fusion buffer
  Time cycle{1'000'000'000};             ///< horovod: HOROVOD_CYCLE_TIME (1 ms since 0.21)
  std::optional<Bytes> partition;        ///< size of slices; none: the strategy's default
  Window credit{.count = 4};             ///< bytescheduler, byteps: limit on the bytes in flight
  Release release = Release::Layer;      ///< byteps
  PhaseOrder first_phase, second_phase;  ///< us-byte
  std::int64_t groups = 2;               ///< mergecomp: number of groups, Y (MergeComp, section 5.2, recommends 2)
  double stop = 0.01;                    ///< mergecomp: alpha of Algorithm 2; the paper gives no value
  Grouping grouping = Grouping::Search;  ///< mergecomp
  FsdpOptions fsdp;
  ZeroOptions zero;
  MegatronOptions megatron;
  MegatronFsdpOptions megatron_fsdp;
  MuonOptions muon;
  OuterOptions outer;
};

struct PlanRequest {
  const Profile& profile;  ///< of the slowest worker, since blocks wait for all workers
  BlockCost cost;          ///< of the collective that sends the blocks, codec included
  const StrategyOptions& options;
  bool splits = true;  ///< blocks can be sent in two halves; codecs whose payloads are gathered prevent that
  std::int64_t workers = 1;
  std::int64_t node = 1;  ///< workers of a node
};

/// The ways in which a user can run a strategy, the simplest first.
enum class Offered : std::uint8_t {
  Maintained,  ///< by settings of a maintained framework
  Replaced,    ///< the same, but PyTorch now has a successor
  AsCode,      ///< with research code, or with code to paste
  AsPlan,      ///< only by implementing the plan
};

/// The framework that implements a strategy, and the settings there.
struct Offer {
  std::string_view framework = {};  ///< "": none
  Offered how = Offered::AsPlan;
  /// Returns the framework's settings for these options or, without one, what to do; nullptr: only the plan says it.
  std::string (*words)(const StrategyOptions& options, const Profile& profile) = nullptr;
  /// Returns the options that the settings really mean; nullptr: exactly the given ones.
  StrategyOptions (*meant)(StrategyOptions options, const Profile& profile) = nullptr;
  std::array<std::string_view, 2> switched_on = {};  ///< options on by default here, but off in the framework

  bool maintained() const { return how <= Offered::Replaced; }
};

/// The default size of slices, in bytes or in elements. Both 0: tensors are not cut.
struct Partition {
  Bytes bytes = 0;
  std::int64_t elements = 0;

  bool cuts() const { return bytes > 0 || elements > 0; }
  Bytes of(const Profile& profile) const;
};

/// The appearance of a strategy in pictures.
struct StrategyLook {
  std::string_view label;
  std::size_t place = 0;  ///< its index among the looks of series, unique
};

/// The sharding of a strategy that plans its own sharding.
struct Shards {
  std::int64_t stage = 0;  ///< ZeRO's
  bool groups = false;     ///< can shard within groups of workers
  /// True if plans with these options shard; nullptr: always.
  bool (*by)(const StrategyOptions& options) = nullptr;
};

struct Strategy {
  std::string_view name;
  StrategyLook look;
  std::string_view summary;
  std::vector<std::string_view> options;  ///< the options that it reads, by user-visible name
  Offer offer;
  std::function<BucketSchedule(const PlanRequest&)> schedule;  ///< none if `plan` or a search plans
  Partition partition = {};                                    ///< default `partition`
  DecodeAt decode_at = DecodeAt::Arrival;                      ///< default `decode_at`
  bool split = false;                                          ///< sends blocks in two halves
  /// Replaces `schedule` in strategies that plan their own sharding.
  std::function<Plan(const PlanRequest&)> plan = nullptr;
  Shards sharded = {};
  /// Returns the number of comparisons that planning takes; nullptr: linear in the tensors.
  double (*comparisons)(const StrategyOptions& options, double tensors) = nullptr;
  Bytes threshold = 0;  ///< default `threshold`; 0 if it reads none
  /// The default collective among several nodes; "": ring.
  std::string_view collective = {};
  Barrier barrier = Barrier::Iteration;  ///< of its schedules
  bool in_pipelines = true;              ///< can plan the chunks of a pipeline
  bool takes_experts = false;            ///< can reduce gradients of experts in groups of their own
  std::string_view source = {};          ///< the code that it follows, with commits; "": see the pages
  /// Workers take local steps, so that training takes another course. "all" does not include it.
  bool local_steps = false;

  bool shards() const { return plan != nullptr; }
  /// Returns the sharding of plans with these options. REQUIRES: shards().
  Shards sharding(const StrategyOptions& chosen) const {
    return sharded.by && !sharded.by(chosen) ? Shards{} : sharded;
  }
  bool searched() const { return !schedule && !plan; }  ///< `best`

  /// Returns the number of slices that the partition makes of the profile; 0 if tensors are not cut.
  Bytes slices(const Profile& profile, const StrategyOptions& options) const;
};

/// Returns the names of the strategies that "all" means: those whose iterations update the model in the same way.
std::vector<std::string> names_of_all_strategies();

inline constexpr Bytes most_slices = 1'000'000;   ///< more indicates a wrong unit and would fill the memory
inline constexpr double most_comparisons = 1e10;  ///< about half a minute

std::span<const Strategy> strategies();

/// Strategies added at run time. Thread-safe. Rows keep their addresses, since scenarios point to them.
class AddedStrategies {
 public:
  using Scheduling = std::function<BucketSchedule(const PlanRequest&)>;

  /// Adds a strategy, or replaces the planner of one that was added before. Throws InputError for a name in the table.
  void add(const std::string& name, Scheduling schedule);

  const Strategy* find(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  struct Added {
    std::string name;
    std::shared_ptr<const Scheduling> schedule;
    Strategy row;
  };

  mutable std::mutex mutex_;
  std::list<Added> all_;
};

/// Finds a strategy in the table or in `added`. Throws InputError at `place`, naming the nearest known one.
const Strategy& find_strategy(std::string_view name, const SourceLocation& place,
                              const AddedStrategies* added = nullptr);

/// Fills in the strategy's defaults for sizes that are not given.
StrategyOptions with_defaults(const Strategy& strategy, StrategyOptions options, const Profile& profile);

BucketSchedule make_bucket_schedule(const Strategy& strategy, const PlanRequest& request);

/// Returns a plan that covers the needs.
Plan make_plan(const Strategy& strategy, const PlanRequest& request);

}  // namespace allreplay
