// The order that gates and lanes impose on a plan's transfers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/plans/schedule/plan.hpp"

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

/// Precedence of tasks in an acyclic graph. In a tree, the parent of each task is the last of those that it waits for;
/// ancestors there are found in constant time, which covers chains and fans. Other cases take a search of bounded size.
class Precedence {
 public:
  /// `waits`: by task, the tasks that it waits for. `order`: all tasks in topological order. `most`: tasks that all
  /// searches together may visit. REQUIRES: `waits` outlives this.
  Precedence(const std::vector<std::vector<std::uint32_t>>& waits, const std::vector<std::uint32_t>& order,
             std::uint64_t most = 100'000'000);

  /// True if `task` waits for `other`. Also false if the search was given up; tired() is then true.
  bool waits(std::uint32_t task, std::uint32_t other);

  /// True if the bound has been reached.
  bool tired() const { return looked_ > most_; }

 private:
  bool precedes_in_tree(std::uint32_t task, std::uint32_t other) const {
    return first_[other] <= first_[task] && first_[task] < first_[other] + size_[other];
  }

  const std::vector<std::vector<std::uint32_t>>& waits_;
  std::vector<std::uint32_t> rank_;          // by task: its index in the order
  std::vector<std::uint32_t> first_, size_;  // by task: its number in preorder; size of its subtree
  std::vector<std::uint32_t> seen_;          // by task: the question in which it was last visited
  std::uint32_t question_ = 0;
  std::uint64_t looked_ = 0, most_;
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
