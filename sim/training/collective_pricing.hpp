// A collective alone, by message size, as nccl-tests measures it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/collective/algorithm.hpp"
#include "sim/collective/nccl.hpp"
#include "sim/core/units.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

struct CollectiveRow {
  Bytes bytes = 0;
  std::optional<CollectiveOp> operation;  ///< where one is asked for
  std::string routing;                    ///< where one is given
  double time_s = 0;
  double algbw_GBps = 0;  ///< bytes / time, in 10⁹ B/s; 0 where no time passes
  double busbw_GBps = 0;  ///< what of that a link carries: algbw times bus_factor()
  std::int64_t messages = 0;
  std::int64_t events = 0;           ///< inside the simulated network
  double wall_s = 0;                 ///< that the simulation took
  std::optional<NcclChoice> choice;  ///< of collective nccl
};

struct CollectivePricing {
  std::vector<CollectiveRow> rows;
  std::int64_t messages = 0;  ///< of one collective; an alpha-beta channel sends none
  std::string warning;        ///< about the cluster's costs; "" if none
  std::string note;           ///< fidelity_note()
};

/// Bytes that the busiest port must carry per byte of the block: OperationRow::bus_factor, but that an all-gather's
/// block is one worker's payload, so that it is N − 1.
double bus_factor(const Algorithm& algorithm, std::int64_t workers);

/// Of the scenario's collective on its cluster; the profile and the strategy do not matter. Throws InputError.
CollectivePricing price_collective(const Scenario& scenario, const std::vector<Bytes>& sizes);

}  // namespace allreplay
