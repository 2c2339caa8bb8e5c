// The cost of a collective that has the network to itself: T(M), a function of the block's size in bytes.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/base/core/time.hpp"
#include "sim/base/core/units.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/plans/collective/algorithm.hpp"
#include "sim/plans/collective/call.hpp"

namespace allreplay {

/// A cost that is neither a line nor a table. Sizes in bytes, above zero.
class SizePrice {
 public:
  struct Cost {
    double seconds = 0;   ///< of all
    double start_up = 0;  ///< the part that may overlap with other transfers
  };
  virtual ~SizePrice() = default;
  virtual Cost of(double bytes) const = 0;
  double seconds(double bytes) const { return of(bytes).seconds; }
  /// A lower bound for blocks of `bytes` in total, however they are cut and overlap; seconds.
  virtual double least(double bytes) const = 0;
};

/// T(M) for M > 0 bytes; T(0) = 0. Either a + b·M, or linear between measured points, or given by a SizePrice.
class CommCost {
 public:
  /// a in seconds, b in seconds per byte.
  CommCost(double a, double b);
  /// Constant below the first size, and linear beyond the last. REQUIRES: at least two points, sizes increasing.
  explicit CommCost(std::span<const CostPoint> points);
  /// Copies share `price`.
  explicit CommCost(std::shared_ptr<const SizePrice> price);

  Time operator()(WireBytes bytes) const { return to_time(seconds(bytes)); }

  /// The same unrounded.
  double seconds(WireBytes bytes) const {
    if (bytes <= 0) return 0;
    if (price_) return before_ + price_->seconds(bytes);
    return points_.empty() ? a_ + b_ * bytes : before_ + interpolate(bytes);
  }

  /// The same cost with a start-up that is longer by `before`.
  CommCost after(Time before) const {
    CommCost other = *this;
    (price_ || !points_.empty() ? other.before_ : other.a_) += to_seconds(before);
    return other;
  }

  /// T(M) without the start-up, which may overlap with other transfers. A table's start-up is its first time, but
  /// leaves at least M times the least time per byte: links are never faster than their best measurement.
  Time transfer(WireBytes bytes) const { return both(bytes).transfer; }

  struct Both {
    Time alone, transfer;
  };
  /// T(M) and transfer(M).
  Both both(WireBytes bytes) const;

  /// The least time for M bytes cut into any blocks: T(M) itself for a + b·M; for a table, M times the least time per
  /// byte over the sizes up to M; SizePrice::least().
  Time least(WireBytes bytes) const;

  /// The time at the best speed of any size, without a start-up: b·M, or M times a table's least time per byte.
  Time at_best(WireBytes bytes) const;

 private:
  double interpolate(double bytes) const;
  double least_per_byte(double bytes) const;

  double a_ = 0;  // seconds (the ps are rounded once, in T)
  double b_ = 0;
  double before_ = 0;  // seconds; added to the time of a table or a SizePrice
  std::vector<CostPoint> points_;
  std::shared_ptr<const SizePrice> price_;
};

/// The costs of single messages: start-up (s), and time per byte sent and reduced (s/B).
struct LinkCosts {
  double alpha = 0, beta = 0, gamma = 0;
};

/// The costs of pushes and pulls between hosts: those that the network states for servers, else `own`.
LinkCosts links_of_servers(const Network& network, LinkCosts own);

/// The costs of the network's messages, those of a topology's links included.
LinkCosts links_of(const Network& network, std::int64_t workers, const CollectiveOptions& options);

/// Derives α and β from a measured a and b by the coefficients of its collective: α = a/c_α, β = (b − c_γ·γ)/c_β
/// (docs/models.md, "Measured constants"). Throws InputError at `place_of_gamma` if c_γ·γ exceeds b.
LinkCosts link_costs(const MeasuredCost& measured, const CollectiveOptions& options,
                     const SourceLocation& place_of_gamma);

/// The costs of an all-reduce and of its halves.
struct OpCosts {
  CommCost all_reduce, reduce_scatter, all_gather;

  /// Throws std::logic_error for any other operation.
  const CommCost& operator[](CollectiveOp op) const;
};

/// The channels that a collective occupies, one bit each: the two levels of a network of nodes (the first one is the
/// only level otherwise), and the way back from dedicated servers.
using Channels = std::uint8_t;
inline constexpr Channels channel_inside = 1, channel_outside = 2, channel_back = 4;
inline constexpr unsigned channel_count = 3;
inline constexpr Channels all_channels = (1U << channel_count) - 1;

/// The closed form of `algorithm` on `network`, on two levels if it has nodes. Zero for one worker. Throws InputError
/// if a measurement or table does not apply to `workers`, and whenever two_level_transfer() or NCCL's model do.
CommCost price(const Network& network, const Algorithm& algorithm, std::int64_t workers, std::int64_t table_workers,
               const CollectiveOptions& options);

/// The same for the all-reduce and both halves. Reduce-scatter and all-gather take a/2 and half of β's part each, and γ
/// is added to the reduce-scatter; measured costs are halved; NCCL prices the halves separately. An algorithm whose own
/// operation is one of the two is not halved.
OpCosts price_ops(const Network& network, const Algorithm& algorithm, std::int64_t workers, std::int64_t table_workers,
                  const CollectiveOptions& options);

/// The cost of one call that all groups of its family make simultaneously, among `workers` workers in total.
struct CallCost {
  CommCost cost;
  Channels channels = channel_inside;
};
CallCost price_call(const Network& network, const Call& call, std::int64_t workers, std::int64_t table_workers,
                    const CollectiveOptions& options);

/// Describes costs that no such network can have, and measurements that are extrapolated to other numbers of nodes or
/// beyond their tables (docs/models.md, "Measured constants"); "" if there are none.
std::string implausible(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                        const CollectiveOptions& options);

}  // namespace allreplay
