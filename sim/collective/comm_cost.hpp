// The cost of a collective alone: T(M), a function of the message size in bytes.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/algorithm.hpp"
#include "sim/collective/stage.hpp"
#include "sim/core/time.hpp"
#include "sim/core/units.hpp"

namespace allreplay {

/// T(M) for M > 0 bytes; T(0) = 0. Either a + b·M, or linear between measured points.
class CommCost {
 public:
  /// a in seconds, b in seconds per byte.
  CommCost(double a, double b);
  /// REQUIRES: at least two points, sizes increasing. Below the first size its time holds; beyond the last the
  /// slope of the last two goes on.
  explicit CommCost(std::span<const CostPoint> points);

  Time operator()(Bytes bytes) const {
    if (bytes <= 0) return Time(0);
    const auto size = static_cast<double>(bytes);
    return points_.empty() ? to_time(a_ + b_ * size) : to_time(interpolate(size));
  }

  /// What of T(M) passes while others may start up, too: T(M) less the start-up. For a table the start-up is
  /// its first time, but no more than what leaves least(M): the links are never faster than their best measurement.
  Time transfer(Bytes bytes) const;

  /// The least time for M bytes cut into any blocks: T(M) itself for a + b·M; for a table M times the least
  /// time per byte over the sizes up to M.
  Time least(Bytes bytes) const;

 private:
  double interpolate(double bytes) const;

  double a_ = 0;  // seconds (the ps are rounded once, in T)
  double b_ = 0;
  std::vector<CostPoint> points_;
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

/// The closed form of `algorithm` among `workers` on `network`. One worker: no cost at all. Throws InputError
/// where the network's measurement or table does not reach.
CommCost price(const Network& network, const Algorithm& algorithm, std::int64_t workers, std::int64_t table_workers,
               const CollectiveOptions& options);

/// The same for every stage. A reduce-scatter and an all-gather are the two halves of an all-reduce: a/2 and half of β
/// each, γ on the reduce-scatter; half each of what was measured.
StageCosts price_stages(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                        std::int64_t table_workers, const CollectiveOptions& options);

/// Complaints about costs that no such network can have (reading 8): "" when there is none.
std::string implausible(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                        const CollectiveOptions& options);

}  // namespace allreplay
