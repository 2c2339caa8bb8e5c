// What is asked of a network.
#pragma once

#include <cstdint>

#include "sim/collective/algorithm.hpp"
#include "sim/collective/group.hpp"

namespace allreplay {

struct Call {
  CollectiveOp op = CollectiveOp::AllReduce;
  Group group;
  const Algorithm* algorithm = nullptr;  ///< null where a call is looked for: any

  Call(CollectiveOp what) : op(what) {}  // NOLINT(*-explicit-*): among everybody, if nothing else is said
  Call(CollectiveOp what, Group among, const Algorithm* by = nullptr)
      : op(what), group(std::move(among)), algorithm(by) {}
  bool operator==(const Call&) const = default;
};

/// The number of a call in its fabric's list.
using CallId = std::uint32_t;

}  // namespace allreplay
