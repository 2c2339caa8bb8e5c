// The one rule for who wins: what lies within the error is a tie, and of a tie what is simplest to run wins, unless
// memory is short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/run.hpp"

namespace allreplay {

struct WinningRule {
  double tie = 0.02;     ///< of the least time: a prediction is not better than that
  std::string runs_now;  ///< the strategy that is in use, with the options as given; "": unknown
  /// The share of a worker's memory that stays free, for what is not simulated: fragments of the allocator, buffers of
  /// NCCL and cuBLAS, temporary tensors of kernels. A plan that leaves less wins only if every plan does.
  double headroom = 0.1;
};

/// Where a plan leaves less than this share of the memory free, memory decides a tie before simplicity does.
inline constexpr double ample_memory = 0.2;

/// What one result has to offer compared with others.
struct Contender {
  bool fits = true;  ///< into memory
  double iteration_s = 0;
  bool runs_now = false;
  Offered offered = Offered::Maintained;
  std::size_t changed = 0;  ///< options that are not as the framework comes; a codec is one
  std::int64_t stage = 0;   ///< ZeRO's: what shares out less is simpler
  std::int64_t collectives = 0;
  double memory_bytes = 0;
  std::optional<double> free = {};  ///< share of the worker's memory; none: nobody says how much there is

  bool is_crowded() const { return free && *free < ample_memory; }
};

/// The share of the memory that is free; none without a limit.
std::optional<double> free_share(const std::optional<Bytes>& limit, double bytes);

/// True if the plan leaves as much memory free as the rule asks for.
bool leaves_room(const std::optional<double>& free, const WinningRule& rule);

struct Ranking {
  std::vector<std::size_t> order;  ///< places among the contenders, the winner first
  std::size_t tied = 0;            ///< so many of the first are as fast, to within the tie; 0 where nothing fits
};

/// First what fits with the rule's headroom (if nothing does: what fits) and takes no longer than the least time of
/// these and the tie. Of these what runs now, then what leaves ample memory free, of the rest what needs the least;
/// then a framework's default, then what a framework offers with the fewest options changed, then what it has replaced,
/// then what takes code or a plan; alike in that, what shards less. The others follow by time, collectives and memory;
/// what leaves too little free comes after them, and last what does not fit.
Ranking rank(const std::vector<Contender>& contenders, const WinningRule& rule);

/// Of an iteration; where workers hold a model together, times how many of them there are to a replica, per
/// micro-batch: what ranks settings that differ in the samples of an iteration.
double seconds_of_equal_work(const Outcome& outcome);

/// Micro-batches of an iteration, of all replicas: where outcomes of one profile have other numbers, samples per second
/// compare them, and iterations do not.
std::int64_t batches_of_iteration(const Outcome& outcome);

Contender contender_of(const Outcome& outcome, const WinningRule& rule);
Ranking rank(const std::vector<Outcome>& outcomes, const WinningRule& rule);

/// The options that matter, without those that nobody set and that are as the strategy comes, and without the device's
/// memory.
NamedValues options_to_show(const Scenario& scenario);

/// How many of a row's options are not those that its strategy has as it comes.
std::size_t options_changed(const Strategy& strategy, const NamedValues& options, const Profile& profile);

}  // namespace allreplay
