// Ranks results by the one rule that every command uses: times within the simulation's error tie; of tied results the
// simplest to run wins, unless memory is short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/core/units.hpp"
#include "sim/plans/schedule/offer.hpp"

namespace allreplay {

struct WinningRule {
  double tie = 0.02;     ///< results within this share of the least time tie
  std::string runs_now;  ///< the strategy in use now, with the given options; "": unknown
  /// The share of a worker's memory that should stay free for what is not simulated: fragments of the allocator,
  /// buffers of NCCL and cuBLAS, temporary tensors of kernels. A plan that leaves less wins only if every plan does.
  double headroom = 0.1;
  /// add_doubts() replays the winner and others at this fraction of the bandwidth between nodes; none: no such replays.
  std::optional<double> doubt = {};
};

/// If a plan leaves less than this share of the memory free, memory decides ties before simplicity.
inline constexpr double ample_memory = 0.2;

/// The properties by which a result is ranked.
struct Contender {
  bool fits = true;        ///< into the worker's memory
  double iteration_s = 0;  ///< or seconds_of_equal_work()
  bool runs_now = false;
  Offered offered = Offered::Maintained;
  std::size_t changed = 0;  ///< number of options that differ from the framework's defaults; a codec is one
  std::int64_t stage = 0;   ///< of ZeRO; sharding less is simpler
  std::int64_t collectives = 0;
  double memory_bytes = 0;
  std::optional<double> free = {};       ///< free share of the worker's memory; none without a limit
  std::optional<double> doubted_s = {};  ///< as iteration_s, with less bandwidth between nodes; none: unknown

  bool is_crowded() const { return free && *free < ample_memory; }
};

/// The share of the memory that is free if `bytes` are used; none without a limit.
std::optional<double> free_share(const std::optional<Bytes>& limit, double bytes);

/// True if the plan leaves as much memory free as the rule asks for.
bool leaves_room(const std::optional<double>& free, const WinningRule& rule);

struct Ranking {
  std::vector<std::size_t> order;  ///< indices of the contenders, the winner first
  std::size_t tied = 0;            ///< number of the first in `order` that tie with the fastest; 0 if nothing fits
};

/// Ranks the contenders. Those that leave the rule's headroom free compete (if none does: those that fit). Competitors
/// within the tie of the fastest come first, ordered by: if all are known, the time with less bandwidth between nodes,
/// unless it is within the tie of the least there; runs now; leaves ample memory free, else needs less memory; how it
/// is offered (Offered); fewest changed options; lowest ZeRO stage. Then follow the other competitors by time,
/// collectives and memory, then those that leave too little free, then those that do not fit.
Ranking rank(const std::vector<Contender>& contenders, const WinningRule& rule);

}  // namespace allreplay
