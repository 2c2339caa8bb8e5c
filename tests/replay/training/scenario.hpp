// Scenarios for tests of the training module.
#pragma once

#include "sim/studies/search/plan_of.hpp"

/// `workers` on a ring of alpha-beta links, in s and s/B.
inline allreplay::Scenario scenario_of(allreplay::Profile profile, std::string_view strategy, std::int64_t workers,
                                       double alpha, double beta) {
  allreplay::Scenario scenario;
  scenario.profile = std::move(profile);
  scenario.cluster.name = "test";
  scenario.cluster.workers = scenario.workers = workers;
  scenario.cluster.network.alpha = alpha;
  scenario.cluster.network.beta = beta;
  scenario.strategy = &allreplay::find_strategy(strategy, {});
  return scenario;
}
