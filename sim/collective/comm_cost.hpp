// The cost of a collective alone: T(M), a function of the message size in bytes.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/algorithm.hpp"
#include "sim/collective/stage.hpp"
#include "sim/core/time.hpp"
#include "sim/core/units.hpp"

namespace allreplay {

/// A cost that is neither a line nor a table. Sizes in bytes, above zero.
class SizePrice {
 public:
  virtual ~SizePrice() = default;
  virtual double seconds(double bytes) const = 0;
  virtual double start_up(double bytes) const = 0;  ///< what of it may pass while others' bytes move; seconds
  /// Below what blocks of so many bytes in all take, however they are cut and overlap; seconds.
  virtual double least(double bytes) const = 0;
};

/// T(M) for M > 0 bytes; T(0) = 0. Either a + b·M, or linear between measured points, or what a SizePrice says.
class CommCost {
 public:
  /// a in seconds, b in seconds per byte.
  CommCost(double a, double b);
  /// REQUIRES: at least two points, sizes increasing. Below the first size its time holds; beyond the last the
  /// slope of the last two goes on.
  explicit CommCost(std::span<const CostPoint> points);
  /// Copies share it.
  explicit CommCost(std::shared_ptr<const SizePrice> price);

  Time operator()(Bytes bytes) const { return to_time(seconds(bytes)); }

  /// The same unrounded.
  double seconds(Bytes bytes) const {
    if (bytes <= 0) return 0;
    const double size = size_of(bytes);
    if (price_) return before_ + price_->seconds(size);
    return points_.empty() ? a_ + b_ * size : before_ + interpolate(size);
  }

  /// The same, once `before` has passed: a longer start-up.
  CommCost after(Time before) const {
    CommCost other = *this;
    (price_ || !points_.empty() ? other.before_ : other.a_) += to_seconds(before);
    return other;
  }

  /// T(factor·M): where only a part of the bytes travels, or each takes more room on the wire.
  CommCost of_share(double factor) const {
    CommCost other = *this;
    other.share_ *= factor;
    return other;
  }

  /// What of T(M) passes while others may start up, too: T(M) less the start-up. For a table the start-up is
  /// its first time, but no more than what leaves least(M): the links are never faster than their best measurement.
  Time transfer(Bytes bytes) const;

  /// The least time for M bytes cut into any blocks: T(M) itself for a + b·M; for a table M times the least
  /// time per byte over the sizes up to M; for a SizePrice what it says.
  Time least(Bytes bytes) const;

  /// What the bytes alone take at the best speed of all sizes: b·M, or M times a table's least time per byte.
  Time at_best(Bytes bytes) const;

 private:
  double size_of(Bytes bytes) const { return static_cast<double>(bytes) * share_; }
  double interpolate(double bytes) const;
  double least_per_byte(Bytes bytes) const;

  double a_ = 0;  // seconds (the ps are rounded once, in T)
  double b_ = 0;
  double share_ = 1;
  double before_ = 0;  // seconds, before a table's or a SizePrice's
  std::vector<CostPoint> points_;
  std::shared_ptr<const SizePrice> price_;
};

/// What single messages cost: start-up (s), and per byte sent and reduced (s/B).
struct LinkCosts {
  double alpha = 0, beta = 0, gamma = 0;
};

/// α and β out of a measured a and b (readings 3 and 6), by the coefficients of its collective:
/// α = a/c_α, β = (b − c_γ·γ)/c_β. Throws InputError at `place_of_gamma` when γ leaves less than nothing of b.
LinkCosts link_costs(const MeasuredCost& measured, const CollectiveOptions& options, const Place& place_of_gamma);

/// What each stage costs, by Stage.
using StageCosts = std::array<CommCost, stage_count>;

/// How the workers of a training step are divided: N workers in groups of F consecutive ones (Axis).
struct Groups {
  std::int64_t workers = 1;
  std::int64_t shard = 1;  ///< divides `workers`

  std::int64_t ranks(Axis axis) const {
    return axis == Axis::Shard ? shard : axis == Axis::Replica ? workers / shard : workers;
  }
  std::int64_t stride(Axis axis) const { return axis == Axis::Replica ? shard : 1; }
};

/// Which channels a collective occupies, one bit each: the levels of a network of nodes (on one level there is only the
/// first), and the way back from servers on hosts of their own.
using Channels = std::uint8_t;
inline constexpr Channels channel_inside = 1, channel_outside = 2, channel_back = 4;
inline constexpr unsigned channel_count = 3;
inline constexpr Channels all_channels = (1U << channel_count) - 1;

/// The closed form of `algorithm` among `workers` on `network`, on two levels where it has nodes. One worker: no cost
/// at all. Throws InputError where the network's measurement or table does not reach, and for what two_level_transfer()
/// or NCCL's model refuse.
CommCost price(const Network& network, const Algorithm& algorithm, std::int64_t workers, std::int64_t table_workers,
               const CollectiveOptions& options);

/// The same for every stage. A reduce-scatter and an all-gather are the two halves of an all-reduce: a/2 and half of β
/// each, γ on the reduce-scatter; half each of what was measured; NCCL's are priced by themselves.
StageCosts price_stages(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                        std::int64_t table_workers, const CollectiveOptions& options);

/// The same among the groups of an axis, all at once.
struct AxisCosts {
  StageCosts stages;
  Channels channels = channel_inside;
};
AxisCosts price_axis(const Network& network, const Algorithm& algorithm, const Groups& groups, Axis axis,
                     std::int64_t table_workers, const CollectiveOptions& options);

/// Complaints about costs that no such network can have (reading 8), and about measurements that are carried to other
/// numbers of nodes or beyond their tables: "" when there is none.
std::string implausible(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                        const CollectiveOptions& options);

}  // namespace allreplay
