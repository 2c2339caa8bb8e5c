#include "sim/report/report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/text.hpp"
#include "sim/estimate/device.hpp"
#include "sim/experiment/ranking.hpp"
#include "sim/experiment/row.hpp"
#include "sim/report/phrases.hpp"
#include "sim/report/result_rows.hpp"
#include "sim/report/scenario_labels.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

namespace {

std::string without_blanks(std::string value) {
  std::erase(value, ' ');
  return value;
}

}  // namespace

std::string options_text(const NamedValues& options) {
  std::string text;
  for (const auto& [name, value] : options)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, without_blanks(value));
  return text;
}

std::string codec_text(const Scenario& scenario) {
  if (!scenario.codec) return "";
  return fmt::format("{} ({}; times {} on {})", scenario.codec->name, scenario.codec->codec->summary,
                     scenario.codec->origin, scenario.codec->device);
}

std::string title(const Scenario& scenario) { return ScenarioLabels({identifying_names(scenario)}).title(); }

namespace {

std::string note_on_times(const std::string& profile, const std::string& origin, const std::string& source) {
  if (origin != to_string(Origin::Reconstructed) && origin != to_string(Origin::Estimated)) return "";
  return fmt::format("note: the times of {} are {}, not measured{}\n", profile, origin, source);
}

}  // namespace

std::string caveat(const std::string& profile, const std::string& origin) { return note_on_times(profile, origin, ""); }

std::string caveat(const Profile& profile) { return caveat(profile.name, to_string(profile.origin)); }

std::string caveat_with_source(const Profile& profile) {
  return note_on_times(profile.name, to_string(profile.origin), fmt::format(" ({})", profile.source));
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
