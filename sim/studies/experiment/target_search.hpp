// The least (or the most) of a quantity that meets a target, and the cheapest fabric that does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/core/json.hpp"
#include "sim/replay/training/simulate.hpp"
#include "sim/studies/experiment/progress.hpp"
#include "sim/studies/experiment/target.hpp"
#include "sim/studies/experiment/training_cost.hpp"

namespace allreplay {

/// The parts of a cluster. Those of a topology are all of its parts, whether workers use them or not.
struct FabricParts {
  std::int64_t gpus = 0, hosts = 0;
  std::int64_t switches = 0;
  std::int64_t ports = 0;  ///< of hosts and switches: two for each cable between them
};

/// Prices in dollars.
struct FabricPrices {
  double gpu = 0, host = 0, switches = 0, port = 0;
  std::vector<std::string> fabrics;  ///< clusters to choose from
  SourceLocation place;

  double of(const FabricParts& parts) const;
};

/// Reads gpu_usd, host_usd, switch_usd, port_usd and "fabrics". Throws InputError.
FabricPrices read_prices(const Files& files, const std::string& file);

/// Counts the parts. Throws InputError at the cluster if switches have a price, but no topology says how many there
/// are.
FabricParts parts_of(const Cluster& cluster, std::int64_t workers, const FabricPrices& prices);

struct TargetSearch {
  Target target;
  const VariedAxis* axis = nullptr;  ///< null: only fabrics are compared
  std::vector<std::string> values;   ///< values of the axis, or the ends of its range; empty: the usual values
  SourceLocation place;              ///< of these
  std::optional<FabricPrices> prices;
  int jobs = 2;
  Watch watch = {};  ///< counts replays
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
  std::vector<TargetStep> fabrics;   ///< as listed
  std::optional<Cheapest> cheapest;  ///< among these, of those that meet the target and fit
};

/// Searches. If the request's strategy is "", it is chosen as by what_if(). Throws InputError, also if the base has no
/// such quantity.
TargetAnswer search_target(Library& library, Request request, const TargetSearch& search);

}  // namespace allreplay
