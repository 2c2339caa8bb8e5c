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

// A value without its blank can be copied into a command: bucket_cap=25MiB.
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

bool shows_memory(const std::vector<Outcome>& outcomes) {
  return std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& one) {
    return one.result.plan.sharding.shards_optimizer() || one.scenario.options.memory.limit.has_value();
  });
}

std::string limit_note(const Outcome& one, bool shown) {
  const auto& [scenario, result, wall_s] = one;
  const auto& limit = scenario.options.memory.limit;
  const bool activations = result.memory.parts.activations.has_value();
  const auto& device = scenario.device;
  std::string note;
  if (device && limit == device->memory)
    note = fmt::format("the memory of a worker is {}, that of {} (to change it: --memory)", limit_text(scenario),
                       device->name);
  if (!limit && (shown || activations)) {
    note = fmt::format("memory is not checked (to check it, give --memory {})",
                       device ? fmt::format("{}, that of {}", without_blanks(format_size(device->memory)), device->name)
                              : "of a worker, such as 80GB");
  }
  if (shown && !activations)
    note +=
        fmt::format("{} without activations, which the profile does not have", note.empty() ? "memory is" : ", and is");
  return note.empty() ? "" : fmt::format("note: {}\n", note);
}

std::string efficiency_note(const std::vector<Outcome>& outcomes, const std::vector<ScalingReference>& references) {
  constexpr double hardly = 1.0005;  // 100.0 %
  std::string text;
  for (const ScalingReference& one : references)
    if (text.empty() && !one.undivided.empty())
      text = fmt::format(
          "note: efficiency is not relative to {}, over which the samples of an iteration cannot be divided evenly\n",
          workers_text(one.undivided.back()));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto& [scenario, result, wall_s] = outcomes[i];
    if (references[i].workers > 1 && references[i].workers == scenario.workers &&
        references[i].relative(outcomes[i]) > hardly)
      return text + fmt::format("note: an efficiency above 100 %: faster than {}, which all are relative to\n",
                                references[i].strategy);
    if (result.plan.sharding.shards_optimizer() && references[i].relative(outcomes[i]) > hardly)
      return text +
             "note: an efficiency above 100 %: the optimizer is sharded, so that among more workers each updates "
             "less\n";
  }
  return text;
}

std::string doubts(const std::vector<Outcome>& outcomes) {
  const auto drawn = [](const Outcome& one) { return one.scenario.stragglers.jitter.has_value(); };
  const auto searched_elsewhere = [](const Outcome& one) {
    const Metrics& m = one.result.metrics;
    const bool optimal = m.lower_bound_s && m.iteration_s <= 1.001 * *m.lower_bound_s;
    return one.result.fidelity == Fidelity::Message && !one.scenario.given && one.scenario.strategy->searched() &&
           !optimal;
  };
  // The presets of machines with several GPUs a node have both.
  const auto too_regular = [](const Outcome& one) {
    return one.scenario.cluster.in_words && one.scenario.cluster.network.node && one.scenario.workers > 1 &&
           !one.scenario.cluster.interference && !one.scenario.stragglers.any();
  };
  std::string text;
  if (std::any_of(outcomes.begin(), outcomes.end(), too_regular))
    text +=
        "note: all GPUs are equally fast, and communication does not slow them down; presets have both: --spread 2.4% "
        "--interference 1.19\n";
  if (outcomes.size() > 1 && std::any_of(outcomes.begin(), outcomes.end(), drawn))
    text +=
        "note: with jitter every strategy draws its own random times: small differences are chance (try another "
        "seed)\n";
  if (std::any_of(outcomes.begin(), outcomes.end(), searched_elsewhere))
    text += "note: best is searched in alpha-beta: in message other plans may be faster\n";
  return text;
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

std::string bounds_text(const std::vector<Outcome>& outcomes) {
  const LeastBounds least = least_bounds(outcomes);
  std::string text;
  if (least.any)
    text = fmt::format("lower bound of any schedule{}: {}", least.sharded ? " without shards" : "",
                       format_duration(*least.any));
  if (!least.sharded) return text;
  double most = *least.sharded;
  for (const Outcome& one : outcomes)
    if (one.result.plan.sharding.shards_optimizer())
      most = std::max(most, one.result.metrics.lower_bound_s.value_or(0));
  const std::string from = format_duration(*least.sharded), to = format_duration(most);
  return text + (text.empty() ? "lower bound of sharded schedules" : "; of sharded ones") +
         (from == to ? fmt::format(": {}", from) : fmt::format(", each its own: {} to {}", from, to));
}

}  // namespace allreplay
