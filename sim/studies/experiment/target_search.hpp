// The least (or the most) of a quantity that meets a target, and the cheapest fabric that does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/studies/experiment/fabric_prices.hpp"
#include "sim/studies/experiment/target.hpp"

namespace allreplay {

struct TargetSearch {
  Target target;
  const VariedAxis* axis = nullptr;  ///< null: only fabrics are compared
  std::vector<std::string> values;   ///< values of the axis, or the ends of its range; empty: the usual values
  SourceLocation place;              ///< of these
  std::optional<FabricPrices> prices;
  int jobs = 2;
};

/// A value of the axis, or a fabric, that was tried.
struct TargetStep {
  std::string value;
  std::vector<std::string> flags;  ///< arguments of `allreplay run` for the same outcome
  std::optional<Outcome> outcome;  ///< without its episodes; none: impossible
  std::string wrong;               ///< why it is impossible
  std::optional<double> measured;  ///< the target's quantity
  bool meets = false, fits = true;
  std::optional<FabricParts> parts;
  std::optional<double> usd;
};

struct TargetAnswer {
  Outcome base;
  std::vector<TargetStep> steps;      ///< by rising value
  std::optional<std::size_t> answer;  ///< among the steps
  bool is_least = true, is_monotone = true, all_meet = false;
  std::vector<TargetStep> fabrics;      ///< as listed
  std::optional<std::size_t> cheapest;  ///< among these: of those that meet the target and fit, the least price; of
                                        ///< those within the tie of it, the fastest
};

/// Searches. If the request's strategy is "", it is chosen as by what_if(). Throws InputError, also if the base has no
/// such quantity.
TargetAnswer search_target(Library& library, Request request, const TargetSearch& search);

}  // namespace allreplay
