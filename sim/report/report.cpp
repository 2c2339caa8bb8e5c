#include "sim/report/report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/experiment/row.hpp"
#include "sim/report/table.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

namespace {

std::string above_bound(const Metrics& metrics) {
  if (!metrics.lower_bound_s) return "-";
  return fmt::format("{:.1f} %", 100 * (metrics.iteration_s / *metrics.lower_bound_s - 1));
}

std::string options_of(const Scenario& scenario) { return plain_text(options_that_matter(scenario)); }

// What compresses, and whose times those are.
std::string codec_text(const Scenario& scenario) {
  if (!scenario.codec) return "";
  return fmt::format("{} ({}; times {} on {})", scenario.codec->name, scenario.codec->codec->summary,
                     scenario.codec->origin, scenario.codec->device);
}

}  // namespace

std::string memory_text(const Scenario& scenario, const Result& result) {
  const std::string size = format_size(static_cast<Bytes>(std::llround(result.memory.peak)));
  return fits(scenario, result) ? size : size + ", does not fit";
}

namespace {

// The parts that hold anything.
std::string memory_parts(const MemoryParts& parts) {
  std::string text;
  for (const auto& [name, bytes] : {std::pair("parameters", parts.parameters),
                                    {"gradients", parts.gradients},
                                    {"optimizer", parts.optimizer},
                                    {"gathered", parts.gathered},
                                    {"in reduction", parts.in_reduction},
                                    {"activations", parts.activations.value_or(0)}})
    if (bytes > 0)
      text +=
          fmt::format("{}{} {}", text.empty() ? "" : ", ", name, format_size(static_cast<Bytes>(std::llround(bytes))));
  return text + (parts.activations ? "" : "; activations are not in the trace");
}

}  // namespace

std::string title(const Scenario& scenario, const Result& result) {
  return fmt::format("{} on {}: {} worker{}, {}, {}{}", scenario.profile->name, scenario.cluster.name, scenario.workers,
                     scenario.workers == 1 ? "" : "s", result.collective, result.fidelity,
                     scenario.codec ? ", " + scenario.codec->name : "");
}

std::string caveat(const Profile& profile) {
  if (profile.origin != Origin::Reconstructed && profile.origin != Origin::Estimated) return "";
  return fmt::format("note: the times of {} are {}, not measured ({})\n", profile.name, to_string(profile.origin),
                     profile.source);
}

std::optional<double> lower_bound(const std::vector<Outcome>& outcomes) {
  std::optional<double> least;  // plans in two stages have a bound of their own
  for (const Outcome& outcome : outcomes)
    if (const auto bound = outcome.result.metrics.lower_bound_s) least = std::min(least.value_or(*bound), *bound);
  return least;
}

std::string run_report(const Outcome& outcome) {
  const auto& [scenario, result, wall_s] = outcome;
  const Metrics& m = result.metrics;
  const std::int64_t count = result.plan.step.accumulate;
  const std::string batches = count > 1 ? fmt::format("{} x ", count) : "";
  std::vector<std::pair<std::string, std::string>> lines{
      {"strategy", std::string(scenario.strategy->name)},
      {"codec", codec_text(scenario)},
      {"options", options_of(scenario)},
      {"iteration", format_duration(m.iteration_s)},
      {"  forward", batches + format_duration(m.forward_s)},
      {"  backward", batches + format_duration(m.backward_s)},
      {"  update", m.update_s > 0 ? format_duration(m.update_s) : ""},
      {"  encoding and decoding", scenario.codec ? format_duration(m.codec_s) : ""},
      {"  exposed communication", fmt::format("{} ({} of the iteration)", format_duration(m.exposed_comm_s),
                                              percent(m.exposed_comm_s / m.iteration_s))},
      {"communication in flight", fmt::format("{} in {} collectives", format_duration(m.comm_busy_s), m.collectives)},
      {"speed-up", fmt::format("{:.2f} of {} ({} efficiency)", m.speedup, scenario.workers, percent(m.efficiency))},
      {"throughput", m.samples_per_s ? fmt::format("{:.1f} samples/s", *m.samples_per_s)
                                     : "unknown: the profile gives no batch size"},
      {"memory of a worker", fmt::format("{} ({})", memory_text(scenario, result), memory_parts(result.memory.parts))},
      {"lower bound", m.lower_bound_s
                          ? fmt::format("{} (this is {} above)", format_duration(*m.lower_bound_s), above_bound(m))
                          : "none"}};
  std::string text = title(scenario, result) + "\n\n";
  for (const auto& [name, value] : lines)
    if (!value.empty()) text += fmt::format("{:<24} {}\n", name, value);
  return text + (caveat(scenario.profile).empty() ? "" : "\n" + caveat(scenario.profile));
}

std::string compare_report(const std::vector<Outcome>& outcomes) {
  std::vector<std::vector<std::string>> rows{
      {"strategy", "iteration", "exposed comm.", "collectives", "speed-up", "efficiency", "above bound", "options"}};
  const bool memory = std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& one) {
    return one.result.plan.step.zero > 0 || one.scenario.options.memory.limit.has_value();
  });
  if (memory) rows[0].insert(rows[0].end() - 1, "memory");
  for (const auto& [scenario, result, wall_s] : outcomes) {
    const Metrics& m = result.metrics;
    rows.push_back({std::string(scenario.strategy->name), format_duration(m.iteration_s),
                    format_duration(m.exposed_comm_s), std::to_string(m.collectives), fmt::format("{:.2f}", m.speedup),
                    percent(m.efficiency), above_bound(m), options_of(scenario)});
    if (memory) rows.back().insert(rows.back().end() - 1, memory_text(scenario, result));
  }
  const auto& [scenario, result, wall_s] = outcomes.front();
  std::string text = title(scenario, result);
  if (scenario.codec) text += "\n" + codec_text(scenario);
  const std::int64_t batches = result.plan.step.accumulate;
  text += fmt::format("\n{}forward {}, backward {}, {} of gradients",
                      batches > 1 ? fmt::format("{} micro-batches: ", batches) : "",
                      format_duration(result.metrics.forward_s), format_duration(result.metrics.backward_s),
                      format_size(scenario.profile->bytes()));
  // One bound holds among those that shard alike; what shards in a way of its own has its own.
  std::vector<Outcome> whole;
  for (const Outcome& one : outcomes) {
    if (one.result.plan.step.zero > 0) continue;
    whole.push_back({one.scenario, {}, 0});
    whole.back().result.metrics = one.result.metrics;
  }
  if (const auto bound = lower_bound(whole))
    text += fmt::format("; no lossless schedule {}is faster than {}",
                        whole.size() < outcomes.size() ? "without shards " : "", format_duration(*bound));
  text += "\n\n" + format_table(rows);
  if (memory && !result.memory.parts.activations)
    text += "note: memory is without activations: the trace says nothing of them\n";
  return text + caveat(scenario.profile);
}

std::string sweep_report(const std::vector<Outcome>& outcomes) {
  std::vector<std::vector<std::string>> rows{{"profile", "cluster", "workers", "collective", "fidelity", "codec",
                                              "strategy", "iteration", "exposed comm.", "collectives", "speed-up",
                                              "efficiency", "above bound"}};
  std::string caveats;
  for (const auto& [scenario, result, wall_s] : outcomes) {
    const Metrics& m = result.metrics;
    rows.push_back({scenario.profile->name, scenario.cluster.name, std::to_string(scenario.workers), result.collective,
                    result.fidelity, scenario.codec ? scenario.codec->name : "-", std::string(scenario.strategy->name),
                    format_duration(m.iteration_s), format_duration(m.exposed_comm_s), std::to_string(m.collectives),
                    fmt::format("{:.2f}", m.speedup), percent(m.efficiency), above_bound(m)});
    const std::string one = caveat(scenario.profile);
    if (caveats.find(one) == std::string::npos) caveats += one;
  }
  const bool alike = std::adjacent_find(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
                       return std::equal(a.begin(), a.begin() + 7, b.begin());  // up to the strategy
                     }) != rows.end();
  for (std::size_t i = 0; alike && i < rows.size(); ++i)
    rows[i].push_back(i == 0 ? "options" : options_of(outcomes[i - 1].scenario));
  return format_table(rows) + caveats;
}

}  // namespace allreplay
