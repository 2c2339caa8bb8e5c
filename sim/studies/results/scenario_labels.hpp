// Names scenarios by the properties in which they differ, and by those that they share.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/json_value.hpp"
#include "sim/studies/results/row.hpp"

namespace allreplay {

/// The quantities that identify a scenario, in the order of tables.
inline constexpr std::string_view named_by[] = {"profile", "workers",    "layout",   "micro-batches", "strategy",
                                                "cluster", "collective", "fidelity", "codec"};
inline constexpr std::size_t named_by_strategy = 4;
static_assert(named_by[named_by_strategy] == "strategy");

/// Returns the degrees of parallelism and a pipeline's schedule: "pp 4, tp 8, zbv"; "" for pure data parallelism.
std::string layout_text(const NamedValues& options);

/// Returns the number of micro-batches per iteration: "1" if the options do not set it.
std::string micro_batches_text(const NamedValues& options);

/// The names that identify a scenario, in the order of named_by.
using Names = std::array<std::string, std::size(named_by)>;

/// Returns the names of a scenario. A collective that the network cannot have is named as requested.
Names identifying_names(const Scenario& scenario);

/// The names of several scenarios, to be compared.
class ScenarioLabels {
 public:
  explicit ScenarioLabels(std::vector<Names> all);  ///< REQUIRES: at least one

  /// True if the scenarios differ in this quantity.
  bool differs_by(std::string_view what) const;
  /// True if the scenarios differ in nothing but the strategy.
  bool differ_only_by_strategy() const;
  const std::string& name(std::size_t scenario, std::string_view what) const;

  /// Returns what all have in common: "googlenet_k80_b32 on k80-10gbe: 64 workers, ring, alpha-beta".
  std::string title() const;

  /// Returns where a scenario runs, as far as the scenarios differ in it and except for the quantities in `but`, to
  /// follow a strategy: " on k80-10gbe with ring, 16 workers".
  std::string where(std::size_t scenario, const std::vector<std::string_view>& but = {}) const;

  /// Returns the strategy followed by where().
  std::string label(std::size_t scenario, const std::vector<std::string_view>& but = {}) const;

 private:
  std::vector<Names> all_;
  std::array<bool, std::size(named_by)> differs_{};  ///< by quantity
};

ScenarioLabels labels_of(const std::vector<Outcome>& outcomes);

/// Adds `names`: the strategy and the quantities in which the scenarios differ, for the scenario at `place`.
void add_names(JsonValue& row, const ScenarioLabels& labels, std::size_t place);

}  // namespace allreplay
