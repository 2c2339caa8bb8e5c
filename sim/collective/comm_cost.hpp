// The cost of a collective alone: T(M), a function of the message size in bytes.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/algorithm.hpp"
#include "sim/collective/call.hpp"
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

  Time operator()(WireBytes bytes) const { return to_time(seconds(bytes)); }

  /// The same unrounded.
  double seconds(WireBytes bytes) const {
    if (bytes <= 0) return 0;
    if (price_) return before_ + price_->seconds(bytes);
    return points_.empty() ? a_ + b_ * bytes : before_ + interpolate(bytes);
  }

  /// The same, once `before` has passed: a longer start-up.
  CommCost after(Time before) const {
    CommCost other = *this;
    (price_ || !points_.empty() ? other.before_ : other.a_) += to_seconds(before);
    return other;
  }

  /// What of T(M) passes while others may start up, too: T(M) less the start-up. For a table the start-up is
  /// its first time, but no more than what leaves least(M): the links are never faster than their best measurement.
  Time transfer(WireBytes bytes) const;

  /// The least time for M bytes cut into any blocks: T(M) itself for a + b·M; for a table M times the least
  /// time per byte over the sizes up to M; for a SizePrice what it says.
  Time least(WireBytes bytes) const;

  /// What the bytes alone take at the best speed of all sizes: b·M, or M times a table's least time per byte.
  Time at_best(WireBytes bytes) const;

 private:
  double interpolate(double bytes) const;
  double least_per_byte(double bytes) const;

  double a_ = 0;  // seconds (the ps are rounded once, in T)
  double b_ = 0;
  double before_ = 0;  // seconds, before a table's or a SizePrice's
  std::vector<CostPoint> points_;
  std::shared_ptr<const SizePrice> price_;
};

/// What single messages cost: start-up (s), and per byte sent and reduced (s/B).
struct LinkCosts {
  double alpha = 0, beta = 0, gamma = 0;
};

/// What pushes and pulls have in the place of the network's own between hosts.
LinkCosts links_of_servers(const Network& network, LinkCosts own);

/// α and β out of a measured a and b (docs/models.md, "Measured constants"), by the coefficients of its collective:
/// α = a/c_α, β = (b − c_γ·γ)/c_β. Throws InputError at `place_of_gamma` when γ leaves less than nothing of b.
LinkCosts link_costs(const MeasuredCost& measured, const CollectiveOptions& options,
                     const SourceLocation& place_of_gamma);

/// What an all-reduce costs, and its halves.
struct OpCosts {
  CommCost all_reduce, reduce_scatter, all_gather;

  /// Throws std::logic_error for any other operation.
  const CommCost& operator[](CollectiveOp op) const;
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

/// The same for each half, too. A reduce-scatter and an all-gather are the two halves of an all-reduce: a/2 and half of
/// β each, γ on the reduce-scatter; half each of what was measured; NCCL's are priced by themselves. What does one of
/// the two itself has no halves: it is the whole.
OpCosts price_ops(const Network& network, const Algorithm& algorithm, std::int64_t workers, std::int64_t table_workers,
                  const CollectiveOptions& options);

/// One call, among all the groups of its family at once, of `workers` workers.
struct CallCost {
  CommCost cost;
  Channels channels = channel_inside;
};
CallCost price_call(const Network& network, const Call& call, std::int64_t workers, std::int64_t table_workers,
                    const CollectiveOptions& options);

/// Complaints about costs that no such network can have, and about measurements that are carried to other numbers of
/// nodes or beyond their tables (docs/models.md, "Measured constants"): "" when there is none.
std::string implausible(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                        const CollectiveOptions& options);

}  // namespace allreplay
