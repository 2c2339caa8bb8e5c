// How often nodes fail, and what a job does about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/error.hpp"
#include "sim/core/json.hpp"

namespace allreplay {

/// From one checkpoint to the next: so many seconds or iterations of work, or (neither) what loses least.
struct CheckpointInterval {
  std::optional<double> seconds;
  std::optional<std::int64_t> iterations;
};

/// All times in seconds, all at least 0.
struct Reliability {
  double mtbf = 0;        ///< mean time between failures of one node, > 0
  double checkpoint = 0;  ///< computing waits so long for each
  double restart = 0;     ///< detection, start, reading back
  CheckpointInterval interval = {};
  double repair = 0;                        ///< from a node's failure until it is a spare
  std::optional<std::int64_t> spares = {};  ///< at the start; none: always one more
  bool elastic = false;                     ///< goes on with fewer nodes
  std::optional<double> horizon = {};       ///< what is simulated; none: a thousand failures in the mean
  std::uint64_t seed = 0;
};

inline constexpr std::int64_t most_spares = 100'000'000;

/// "8 d", "30 min", "2 h", or any duration of units.hpp, in seconds. Throws InputError.
double parse_long_duration(std::string_view text, const SourceLocation& place);

/// "optimal", "30 min", "500". Throws InputError.
CheckpointInterval parse_checkpoint_interval(std::string_view text, const SourceLocation& place);

/// The key "reliability" of a job. Throws InputError.
Reliability read_reliability(const Json& object);

/// The same of a text in a file. Throws InputError.
double read_long_duration(const Json& text);

/// Throws InputError at the place of the number that is not possible.
void require_possible(const Reliability& reliability, const SourceLocation& place_of_mtbf,
                      const SourceLocation& place_of_horizon);

}  // namespace allreplay
