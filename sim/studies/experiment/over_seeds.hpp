// Repeats of one scenario with several seeds of everything that is random in it, and their statistics.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/core/statistics.hpp"
#include "sim/replay/training/collective_pricing.hpp"
#include "sim/replay/training/simulate.hpp"

namespace allreplay {

/// Parses "1:20", "3" or "1,5,10:12". Throws InputError, also for a seed given twice.
std::vector<std::uint64_t> parse_seeds(std::string_view text, const SourceLocation& place);

/// True if seeds matter: there is jitter, a spread, or a routing by hash that the fidelity simulates.
bool is_random(const Scenario& scenario);

/// The number of replays: one for each of the scenario's seeds, if seeds matter.
std::size_t replays_of(const Scenario& scenario);

/// The scenario with each of its seeds, which jitter, spread and the routing by hash take; as it is if it has none, and
/// once if nothing is random.
std::vector<Scenario> each_seed(const Scenario& scenario);

/// Adds the other results of the scenario to its first: numbers become their means, the memory that of the seed that
/// needs most; times and events of the simulation are added up. Pictures show the first seed.
class MeanOverSeeds {
 public:
  void add(Result result);
  Result take(std::size_t seeds) &&;  ///< of all; REQUIRES: at least one

 private:
  std::optional<Result> all_;
  std::vector<double> iterations_;
};

/// price_collective() with each of the scenario's seeds. Calls `after_each` replays_of() times per size.
CollectivePricing price_over_seeds(const Scenario& scenario, const std::vector<Bytes>& sizes,
                                   const std::function<void()>& after_each = {});

/// Statistics of the differences between two results at the same seeds; nothing unless both have the same number of
/// seeds, at least two.
std::optional<Summary> paired_difference(const std::vector<double>& by_seed, const std::vector<double>& other);

}  // namespace allreplay
