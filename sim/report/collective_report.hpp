// What the command `collective` prints: a collective alone, by message size, as nccl-tests prints it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collective/algorithm.hpp"
#include "sim/collective/nccl.hpp"
#include "sim/core/error.hpp"
#include "sim/core/screen.hpp"
#include "sim/core/time.hpp"
#include "sim/core/units.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

/// "100 MB": that size; "8B:1GiB:x2": from 8 B on, each twice the one before, up to 1 GiB. Throws InputError at
/// `place`.
std::vector<Bytes> parse_sizes(std::string_view text, const SourceLocation& place);

/// How a collective among `workers` is priced. An alpha-beta channel sends no messages.
struct CollectivePricing {
  Purpose purpose = Purpose::AllReduce;
  std::int64_t workers = 1;
  std::function<Time(Bytes)> time;
  std::int64_t messages = 0;                ///< of one collective
  std::function<std::int64_t()> events;     ///< inside the simulated networks so far; may be empty
  std::function<NcclChoice(Bytes)> choice;  ///< of collective nccl; else empty
  std::string warning;                      ///< about the cluster's costs; "" if none
};

struct CollectiveRow {
  Bytes bytes = 0;
  double time_s = 0;
  double algbw_GBps = 0;  ///< bytes / time, in 10⁹ B/s; 0 where no time passes
  double busbw_GBps = 0;  ///< what of that a link carries: algbw times bus_factor()
  std::int64_t messages = 0;
  std::int64_t events = 0;
  double wall_s = 0;  ///< that the simulation took
  std::optional<NcclChoice> choice;
};

/// Bytes that the busiest port must carry per byte of the block (nccl-tests, doc/PERFORMANCE.md): 2(N−1)/N for an
/// all-reduce, (N−1)/N for a reduce-scatter, 1 for a broadcast. nccl-tests gives an all-gather the size of all payloads
/// together and (N−1)/N; our block is one worker's payload, so N − 1.
double bus_factor(Purpose purpose, std::int64_t workers);

/// Of the scenario's collective on its cluster; the profile and the strategy do not matter. Throws InputError.
CollectivePricing collective_pricing(const Scenario& scenario);

/// "ring among 16 workers on fat-tree-4, message: 480 messages each".
std::string collective_heading(const Scenario& scenario, const CollectivePricing& pricing);

std::vector<CollectiveRow> measure_collective(const CollectivePricing& pricing, const std::vector<Bytes>& sizes);

std::string collective_table(const std::vector<CollectiveRow>& rows, const Screen& screen = {});
std::string collective_json(const std::vector<CollectiveRow>& rows);

}  // namespace allreplay
