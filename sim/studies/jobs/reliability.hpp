// The reliability of a cluster: failures of nodes and how a job recovers from them. It is read from "reliability" in a
// jobs file, or from the options of `goodput`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/core/error.hpp"
#include "sim/base/core/json.hpp"

namespace allreplay {

/// Seconds or iterations of work between two checkpoints; if neither is given, the optimum is computed.
struct CheckpointInterval {
  std::optional<double> seconds;
  std::optional<std::int64_t> iterations;
};

/// All times in seconds, all at least 0.
struct Reliability {
  double mtbf = 0;        ///< mean time between failures of one node, > 0
  double checkpoint = 0;  ///< duration of one, during which computation pauses
  double restart = 0;     ///< detection, start, reading the checkpoint
  CheckpointInterval interval = {};
  double repair = 0;                        ///< from a node's failure until it can be used again
  std::optional<std::int64_t> spares = {};  ///< at the start; none: unlimited
  bool elastic = false;                     ///< continues with fewer nodes
  std::optional<double> horizon = {};       ///< simulated time; none: a thousand failures on average
  std::uint64_t seed = 0;
};

inline constexpr std::int64_t most_spares = 100'000'000;

/// Parses "8 d", "30 min", "2 h", or any duration of units.hpp, into seconds. Throws InputError.
double parse_long_duration(std::string_view text, const SourceLocation& place);

/// Parses "optimal", "30 min", or "500" (iterations). Throws InputError.
CheckpointInterval parse_checkpoint_interval(std::string_view text, const SourceLocation& place);

/// Reads the object "reliability" of a job. Throws InputError.
Reliability read_reliability(const Json& object);

/// parse_long_duration() of a string in a file. Throws InputError.
double read_long_duration(const Json& text);

/// Throws InputError at the place of the value that is out of range.
void require_possible(const Reliability& reliability, const SourceLocation& place_of_mtbf,
                      const SourceLocation& place_of_horizon);

}  // namespace allreplay
