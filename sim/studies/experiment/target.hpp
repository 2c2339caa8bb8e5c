// Targets such as "exposed<5%", and the settings that can be varied to meet them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/experiment/request.hpp"
#include "sim/studies/experiment/run.hpp"

namespace allreplay {

/// A quantity of an outcome that a target limits.
struct TargetQuantity {
  std::string_view name;   ///< "exposed"
  std::string_view key;    ///< in JSON, with its unit: "exposed_comm_share"
  std::string_view about;  ///< one line
  /// Parses a limit: "5%". Throws InputError.
  double (*parse)(std::string_view text, const SourceLocation& place);
  std::optional<double> (*of)(const Outcome& outcome);  ///< nothing if it is unknown
};

std::span<const TargetQuantity> target_quantities();

struct Target {
  const TargetQuantity* quantity = nullptr;
  bool is_upper = true;   ///< the limit is an upper one
  bool or_equal = false;  ///< the limit itself is allowed
  double limit = 0;
  std::string text;  ///< "exposed<5%"

  bool meets(double value) const { return (is_upper ? value < limit : value > limit) || (or_equal && value == limit); }
};

/// Parses "exposed<5%", "mfu>=0.4", "iteration < 2 s". Throws InputError.
Target parse_target(std::string_view text, const SourceLocation& place);

/// A quantity of a scenario that can be varied.
struct VariedAxis {
  std::string_view name;   ///< "network.bandwidth"
  std::string_view about;  ///< one line
  bool is_whole = true;    ///< has whole numbers as values; else a range
  bool prefers_least = true;
  /// Returns the values, in rising order: of the range LO, HI that was given, else around the base.
  std::vector<std::string> (*values)(const Outcome& base, const std::vector<std::string>& given,
                                     const SourceLocation& place);
  void (*set)(Request& request, const std::string& value);
};

std::span<const VariedAxis> varied_axes();

}  // namespace allreplay
