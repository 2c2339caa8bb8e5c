// A collective that is requested from a network: its operation, its group and its algorithm.
#pragma once

#include <cstdint>

#include "sim/plans/collective/algorithm.hpp"
#include "sim/plans/collective/group.hpp"

namespace allreplay {

struct Call {
  CollectiveOp op = CollectiveOp::AllReduce;
  Group group;
  const Algorithm* algorithm = nullptr;  ///< null in a look-up: any

  Call(CollectiveOp what) : op(what) {}  // NOLINT(*-explicit-*): an operation among all workers
  Call(CollectiveOp what, Group among, const Algorithm* by = nullptr)
      : op(what), group(std::move(among)), algorithm(by) {}
  bool operator==(const Call&) const = default;
};

/// The number of a call in its fabric's list.
using CallId = std::uint32_t;

}  // namespace allreplay
