// The order that gates and lanes impose on a plan's transfers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/plans/schedule/plan.hpp"
#include "sim/plans/schedule/precedence.hpp"

namespace allreplay {

/// The plan's transfers in topological order, or a transfer that waits for itself. Edges are the gates within an
/// iteration, the order of the programs, and the order of lanes that start transfers as listed.
struct TransferOrder {
  std::vector<std::uint32_t> transfers;
  std::optional<std::uint32_t> in_circle;
};
TransferOrder order_of_transfers(const Plan& plan);

/// The gates between transfers within an iteration.
struct TransferGates {
  explicit TransferGates(const Plan& plan);

  std::vector<std::vector<std::uint32_t>> waits, frees;  ///< by transfer: transfers that it waits for; that wait for it
  std::vector<std::uint32_t> order;                      ///< topological
};

/// Bounds of a plan's transfers in a role's program. Places of the next iteration come after those of this one.
struct TransferBounds {
  TransferBounds(const Plan& plan, const TransferGates& gates, std::uint32_t role = 0);

  std::vector<std::size_t> earliest;  ///< by transfer: number of works that have ended before it can start
  /// By transfer: the first work that waits for it, directly or through other transfers; else the largest number.
  std::vector<std::size_t> latest;
  std::vector<bool> grounded;  ///< by transfer: waits for a work or the program's start, directly or not
};

/// Answers whether one transfer of a plan ends before another starts: by gates, the role's program, and lanes that send
/// one at a time as listed.
class TransferPrecedence {
 public:
  /// REQUIRES: `gates` and `bounds` outlive it.
  TransferPrecedence(const Plan& plan, const TransferGates& gates, const TransferBounds& bounds);

  /// Returns nothing if the search takes too long.
  std::optional<bool> waits(std::uint32_t transfer, std::uint32_t other);

 private:
  const Plan& plan_;
  const TransferGates& gates_;
  const TransferBounds& bounds_;
  std::vector<std::vector<std::uint32_t>> waits_in_lanes_;
  std::optional<Precedence> precedence_;  // made when first needed
};

}  // namespace allreplay
