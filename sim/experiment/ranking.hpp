// The one rule for who wins: what lies within the error is a tie, and of a tie what is simplest to run wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/experiment/run.hpp"

namespace allreplay {

struct WinningRule {
  double tie = 0.02;     ///< of the least time: a prediction is not better than that
  std::string runs_now;  ///< the strategy that is in use, with the options as given; "": unknown
};

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
};

struct Ranking {
  std::vector<std::size_t> order;  ///< places among the contenders, the winner first
  std::size_t tied = 0;            ///< so many of the first are as fast, to within the tie; 0 where nothing fits
};

/// First what fits and takes no longer than the least time and the tie, of these what runs now, then a framework's
/// default, then what a framework offers with the fewest options changed, then what it has replaced, then what takes
/// code or a plan; alike in that, what shards less. The others follow by time, collectives and memory; what does not
/// fit comes last.
Ranking rank(const std::vector<Contender>& contenders, double tie);

/// Of an iteration; where workers hold a model together, times how many of them there are to a replica, per
/// micro-batch: what ranks settings that differ in the samples of an iteration.
double seconds_of_equal_work(const Outcome& outcome);

/// Micro-batches of an iteration, of all replicas: where outcomes of one profile have other numbers, samples per second
/// compare them, and iterations do not.
std::int64_t batches_of_iteration(const Outcome& outcome);

Contender contender_of(const Outcome& outcome, const WinningRule& rule);
Ranking rank(const std::vector<Outcome>& outcomes, const WinningRule& rule);

/// How many of a row's options are not those that its strategy has as it comes.
std::size_t options_changed(const Strategy& strategy, const NamedValues& options, const Profile& profile);

}  // namespace allreplay
