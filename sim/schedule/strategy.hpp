// Strategies: pure functions from a profile and the cost of communication to a plan.
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

#include "sim/core/error.hpp"
#include "sim/schedule/codec.hpp"
#include "sim/schedule/plan.hpp"
#include "sim/schedule/sharding_options.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// us-byte: which tensor goes first in a phase. Anything but the paper's choice is for experiments.
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
  SourceLocation place;           ///< where a complaint about them points
};

/// mergecomp: how the groups are found.
enum class Grouping : std::uint8_t {
  Search,   ///< Algorithm 2: one group more as long as that pays
  Optimal,  ///< the best with exactly so many groups
  Even,     ///< as many tensors in each, but for the remainder (the paper's naive partition)
};

/// What users may set; each strategy says which of these it reads.
struct StrategyOptions {
  ShardingConfig sharding;         ///< read by all
  std::optional<Barrier> barrier;  ///< instead of the strategy's own

  std::optional<Bytes> bucket_cap;       ///< ddp: PyTorch's bucket_cap_mb; 25 MiB
  std::optional<Bytes> first_bucket;     ///< ddp: cap of the first bucket; bucket_cap, or 1 MiB where that is not given
  std::optional<Bytes> threshold;        ///< horovod: HOROVOD_FUSION_THRESHOLD; dear: its fusion buffer
  Time cycle{1'000'000'000};             ///< horovod: HOROVOD_CYCLE_TIME (1 ms since 0.21)
  std::optional<Bytes> partition;        ///< the size of slices; the strategy's own default if not given
  Window credit{.count = 4};             ///< bytescheduler, byteps: how much may be in flight
  Release release = Release::Layer;      ///< byteps
  PhaseOrder first_phase, second_phase;  ///< us-byte
  std::int64_t groups = 2;               ///< mergecomp: Y, or how many (MergeComp, section 5.2, recommends 2)
  double stop = 0.01;                    ///< mergecomp: alpha of Algorithm 2; the paper gives no value
  Grouping grouping = Grouping::Search;  ///< mergecomp
  FsdpOptions fsdp;
  ZeroOptions zero;
  MegatronOptions megatron;
};

struct PlanRequest {
  const Profile& profile;  ///< as the slowest worker runs it: the last to be ready is what a block waits for
  BlockCost cost;          ///< on the collective that will carry the blocks, with the codec if there is one
  const StrategyOptions& options;
  bool splits = true;  ///< whether blocks can travel in two halves: payloads that are gathered cannot
  std::int64_t workers = 1;
};

/// How somebody gets to run a strategy, the simplest way first.
enum class Offered : std::uint8_t {
  Maintained,  ///< by a framework's own settings
  Replaced,    ///< likewise, but PyTorch has another in its place by now
  AsCode,      ///< research code, or code to paste
  AsPlan,      ///< it takes the plan itself
};

/// Who offers a strategy outside of this program, and in which words.
struct Offer {
  std::string_view framework = {};  ///< "": none offers it
  Offered how = Offered::AsPlan;
  /// What its users set so that it plans with these options; without a framework, what to do instead. nullptr: they
  /// need the plan itself.
  std::string (*words)(const StrategyOptions& options, const Profile& profile) = nullptr;
  /// What the words mean, where they cannot say the options themselves.
  StrategyOptions (*meant)(StrategyOptions options, const Profile& profile) = nullptr;
  std::array<std::string_view, 2> switched_on = {};  ///< options that are on here, and off as the framework comes

  bool maintained() const { return how <= Offered::Replaced; }  ///< settings of a maintained framework
};

/// The size of slices where users say none: in bytes, or in elements of whatever type. Neither: nothing is cut.
struct Partition {
  Bytes bytes = 0;
  std::int64_t elements = 0;

  bool cuts() const { return bytes > 0 || elements > 0; }
  Bytes of(const Profile& profile) const;
};

/// How pictures show a strategy.
struct StrategyLook {
  std::string_view label;  ///< what they call it
  std::size_t place = 0;   ///< its place among the looks of series, which no other has
};

/// How the plans of a strategy that shards in a way of its own do so.
struct Shards {
  std::int64_t stage = 0;  ///< ZeRO's
  bool groups = false;     ///< they can, among groups of workers
  /// Whether they shard with these options; nullptr: they do.
  bool (*by)(const StrategyOptions& options) = nullptr;
};

struct Strategy {
  std::string_view name;
  StrategyLook look;
  std::string_view summary;
  std::vector<std::string_view> options;  ///< those of StrategyOptions that it reads, as users name them
  Offer offer;
  std::function<BucketSchedule(const PlanRequest&)> schedule;  ///< none where plans are replayed (sim/search/best.hpp)
  Partition partition = {};                                    ///< its default `partition`
  DecodeAt decode_at = DecodeAt::Arrival;                      ///< its default
  bool split = false;                                          ///< its blocks travel in two halves
  /// In the place of a schedule: those that shard in a way of their own, and how.
  std::function<Plan(const PlanRequest&)> plan = nullptr;
  Shards sharded = {};
  /// What planning compares, for those that look at tensors more than once; nullptr for the others.
  double (*comparisons)(const StrategyOptions& options, double tensors) = nullptr;
  Bytes threshold = 0;  ///< its default `threshold`; 0 if it reads none
  /// Among several nodes, where nobody names a collective; "": ring, as everywhere else.
  std::string_view collective = {};
  Barrier barrier = Barrier::Iteration;  ///< its schedules'
  bool in_pipelines = true;              ///< its blocks may be those of a pipeline's chunks

  bool shards() const { return plan != nullptr; }
  /// Of plans with these options. REQUIRES: shards().
  Shards sharding(const StrategyOptions& chosen) const {
    return sharded.by && !sharded.by(chosen) ? Shards{} : sharded;
  }
  bool searched() const { return !schedule && !plan; }  ///< `best`

  /// How many slices its partition makes of the profile; 0 if it cuts nothing.
  Bytes slices(const Profile& profile, const StrategyOptions& options) const;
};

inline constexpr Bytes most_slices = 1'000'000;   ///< more are a slip of the unit, and would fill the memory
inline constexpr double most_comparisons = 1e10;  ///< half a minute

std::span<const Strategy> strategies();

/// Strategies that are not in the table. Several threads may add and find them. Rows never move or go while this is
/// there: scenarios point to them.
class AddedStrategies {
 public:
  using Scheduling = std::function<BucketSchedule(const PlanRequest&)>;

  /// A name that was added before plans as `schedule` does from now on. Throws InputError for one of the table's.
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

/// In the table, or among those that were added, if any were. Throws InputError at `place`, naming the nearest known
/// one.
const Strategy& find_strategy(std::string_view name, const SourceLocation& place,
                              const AddedStrategies* added = nullptr);

/// What the strategy makes of sizes that are not given.
StrategyOptions with_defaults(const Strategy& strategy, StrategyOptions options, const Profile& profile);

BucketSchedule make_bucket_schedule(const Strategy& strategy, const PlanRequest& request);

/// The schedule, written out. It covers the needs.
Plan make_plan(const Strategy& strategy, const PlanRequest& request);

}  // namespace allreplay
