// Prices one collective in isolation by message size, as nccl-tests measures it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/core/units.hpp"
#include "sim/plans/collective/algorithm.hpp"
#include "sim/plans/collective/nccl.hpp"
#include "sim/replay/training/simulate.hpp"

namespace allreplay {

struct CollectiveRow {
  Bytes bytes = 0;
  std::optional<CollectiveOp> operation;  ///< if one was requested
  std::string routing;                    ///< if one was given
  double time_s = 0;                      ///< over several seeds the mean, of which the rates follow
  std::vector<double> by_seed;            ///< time_s with each of the scenario's seeds, if it has some
  double algbw_GBps = 0;                  ///< bytes / time, in 10⁹ B/s; 0 if the time is 0
  double busbw_GBps = 0;                  ///< per link: algbw times bus_factor()
  std::int64_t messages = 0;
  std::int64_t events = 0;           ///< inside the simulated network
  double wall_s = 0;                 ///< of the simulation
  std::optional<NcclChoice> choice;  ///< of collective nccl
};

struct CollectivePricing {
  std::vector<CollectiveRow> rows;
  std::int64_t messages = 0;  ///< of one collective; 0 in alpha-beta
  std::string warning;        ///< about the cluster's costs; "" if none
  std::string note;           ///< fidelity_note()
};

/// Returns the bytes that the busiest port carries per byte of the block: OperationRow::bus_factor, except for gathered
/// payloads, where the block is one worker's payload and the factor is N − 1.
double bus_factor(const Algorithm& algorithm, std::int64_t workers);

/// Prices the scenario's collective on its cluster; profile and strategy are ignored. Calls `after_each` after each
/// size. Throws InputError.
CollectivePricing price_collective(const Scenario& scenario, const std::vector<Bytes>& sizes,
                                   const std::function<void()>& after_each = {});

}  // namespace allreplay
