// What to run: all strategies tuned and ranked, in the words of their frameworks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/experiment/report.hpp"

namespace allreplay {

/// One strategy with its best options.
struct Advice {
  Outcome tuned;
  double given_s = 0;  ///< the iteration time with the options as given (defaults, mostly)
  std::string settings;
};

struct RecommendRequest {
  std::int64_t budget = 24;  ///< trials per strategy
  std::uint64_t seed = 1;
  int jobs = 2;
};

/// Tunes each scenario (they differ in their strategy), and sorts them by iteration time; among equals, those that
/// start fewer collectives come first.
std::vector<Advice> recommend(const std::vector<Scenario>& scenarios, const RecommendRequest& request);

/// One page: the ranking, what limits the iteration, and what to do.
std::string recommend_report(const std::vector<Advice>& ranking);

/// One page for several numbers of workers: efficiency by strategy, and where it falls under `line`.
/// REQUIRES: the same strategies at each size.
std::string scaling_report(const std::vector<std::vector<Advice>>& sizes, double line);

/// The columns of `run --json`, and: gap (above the lower bound), untuned_iteration_s, framework, settings.
std::string recommend_json(const std::vector<std::vector<Advice>>& sizes);

}  // namespace allreplay
