// What tells several scenarios apart, in words: which of their names differ, and which all have alike.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/experiment/run.hpp"

namespace allreplay {

/// What a scenario is named by.
inline constexpr std::string_view named_by[] = {"profile", "cluster", "workers",       "collective", "fidelity",
                                                "codec",   "layout",  "micro-batches", "strategy"};

/// How workers hold a model together, and in which order a pipeline runs: "pp 4, tp 8, zbv". "" with data parallelism
/// alone.
std::string layout_text(const NamedValues& options);

/// How many an iteration has: "1" where the options do not say it.
std::string micro_batches_text(const NamedValues& options);

/// A scenario's names, by what they are of, in the order of named_by.
using Names = std::vector<std::pair<std::string, std::string>>;

/// What is not possible has names, too: those that were asked for.
Names identifying_names(const Scenario& scenario);

/// Several scenarios, of which each has its names.
class ScenarioLabels {
 public:
  explicit ScenarioLabels(std::vector<Names> all);  ///< REQUIRES: at least one

  bool differ_in(std::string_view what) const;
  /// Whether they differ in no more than the strategy.
  bool on_one_network() const;
  const std::string& name(std::size_t scenario, std::string_view what) const;

  /// What all have alike: "googlenet_k80_b32 on k80-10gbe: 64 workers, ring, alpha-beta".
  std::string title() const;

  /// Where a scenario runs, as far as they differ, behind a strategy: " on k80-10gbe with ring, 16 workers". Without
  /// `but`.
  std::string where(std::size_t scenario, const std::vector<std::string_view>& but = {}) const;

  /// The strategy, and where().
  std::string label(std::size_t scenario, const std::vector<std::string_view>& but = {}) const;

 private:
  std::vector<Names> all_;
};

ScenarioLabels labels_of(const std::vector<Outcome>& outcomes);

}  // namespace allreplay
