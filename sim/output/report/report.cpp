#include "sim/output/report/report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/studies/results/row.hpp"
#include "sim/studies/results/scenario_labels.hpp"

namespace allreplay {

std::string codec_text(const Scenario& scenario) {
  if (!scenario.codec) return "";
  return fmt::format("{} ({}; times {} on {})", scenario.codec->name, scenario.codec->codec->summary,
                     scenario.codec->origin, scenario.codec->device);
}

std::string title(const Scenario& scenario) { return ScenarioLabels({identifying_names(scenario)}).title(); }

std::string caveat_with_source(const Profile& profile) {
  if (profile.origin != Origin::Reconstructed && profile.origin != Origin::Estimated) return "";
  return fmt::format("note: the times of {} are {}, not measured ({})\n", profile.name, to_string(profile.origin),
                     profile.source);
}

LeastBounds least_bounds(const std::vector<Outcome>& outcomes) {
  LeastBounds least;
  for (const Outcome& one : outcomes)
    if (const auto bound = one.result.metrics.lower_bound_s) {
      auto& known = one.result.plan.sharding.shards_optimizer() ? least.sharded : least.any;
      known = std::min(known.value_or(*bound), *bound);
    }
  return least;
}

}  // namespace allreplay
