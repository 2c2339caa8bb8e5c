#include "sim/report/report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/experiment/row.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

std::string options_text(const NamedValues& options) {
  std::string text;
  for (const auto& [name, value] : options) {
    std::string compact = value;
    std::erase(compact, ' ');
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, compact);
  }
  return text;
}

namespace {

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

TableCell memory_cell(const Scenario& scenario, const Result& result) {
  const TableCell cell = cell::bytes(result.memory.peak);
  return fits(scenario, result) ? cell : cell.marked("!");
}

std::string memory_note(const Scenario& scenario) {
  return fmt::format("! does not fit into the {} of a worker\n", write_size(*scenario.options.memory.limit));
}

TableCell exposed_cell(const Metrics& metrics) {
  constexpr double hardly = 0.0005;  // of an iteration: 0.0 %
  const TableCell cell = cell::seconds(metrics.exposed_comm_s);
  return metrics.exposed_comm_s > hardly * metrics.iteration_s ? cell.with(Tone::Exposed) : cell;
}

TableCell above_bound_cell(const Metrics& metrics) {
  return metrics.lower_bound_s ? cell::percent(metrics.iteration_s / *metrics.lower_bound_s - 1) : TableCell("-");
}

std::optional<double> lower_bound(const std::vector<Outcome>& outcomes) {
  std::optional<double> least;  // plans in two stages have a bound of their own
  for (const Outcome& outcome : outcomes)
    if (const auto bound = outcome.result.metrics.lower_bound_s) least = std::min(least.value_or(*bound), *bound);
  return least;
}

std::string run_report(const Outcome& outcome, const Screen& screen) {
  const auto& [scenario, result, wall_s] = outcome;
  const Metrics& m = result.metrics;
  const std::int64_t count = result.plan.step.accumulate;
  const std::string batches = count > 1 ? fmt::format("{} x ", count) : "";
  const TableCell exposed(fmt::format("{} ({} of the iteration)", format_duration(m.exposed_comm_s),
                                      percent(m.exposed_comm_s / m.iteration_s)));
  std::vector<std::pair<std::string, TableCell>> lines{
      {"strategy", std::string(scenario.strategy->name)},
      {"codec", codec_text(scenario)},
      {"options", options_text(options_that_matter(scenario))},
      {"iteration", format_duration(m.iteration_s)},
      {"  forward", batches + format_duration(m.forward_s)},
      {"  backward", batches + format_duration(m.backward_s)},
      {"  update", m.update_s > 0 ? format_duration(m.update_s) : ""},
      {"  encoding and decoding", scenario.codec ? format_duration(m.codec_s) : ""},
      {"  exposed communication", exposed.with(exposed_cell(m).tone)},
      {"communication in flight", fmt::format("{} in {} collectives", format_duration(m.comm_busy_s), m.collectives)},
      {"speed-up", fmt::format("{:.2f} of {} ({} efficiency)", m.speedup, scenario.workers, percent(m.efficiency))},
      {"throughput", m.samples_per_s ? fmt::format("{:.1f} samples/s", *m.samples_per_s)
                                     : "unknown: the profile gives no batch size"},
      {"memory of a worker", fmt::format("{} ({})", memory_text(scenario, result), memory_parts(result.memory.parts))},
      {"lower bound", m.lower_bound_s ? fmt::format("{} (this is {} above)", format_duration(*m.lower_bound_s),
                                                    percent(m.iteration_s / *m.lower_bound_s - 1))
                                      : "none"}};
  std::erase_if(lines, [](const auto& line) { return line.second.text.empty(); });
  const std::string note = caveat(scenario.profile);
  return wrapped(title(scenario, result), screen.width) + "\n\n" + facts(lines, screen) +
         (note.empty() ? "" : "\n" + wrapped(note, screen.width, 2));
}

namespace {

// The options of each row, without those that all rows have alike, which are the last.
std::vector<NamedValues> apart_from_common(const std::vector<Outcome>& outcomes) {
  std::vector<NamedValues> options;
  for (const Outcome& one : outcomes) options.push_back(options_that_matter(one.scenario));
  NamedValues common = options.size() > 1 ? options.front() : NamedValues();
  for (const NamedValues& own : options)
    std::erase_if(common, [&](const auto& one) { return std::find(own.begin(), own.end(), one) == own.end(); });
  for (NamedValues& own : options)
    std::erase_if(own, [&](const auto& one) { return std::find(common.begin(), common.end(), one) != common.end(); });
  options.push_back(common);
  return options;
}

// The place of the fastest that fits; none where there is nothing to compare.
std::size_t fastest(const std::vector<Outcome>& outcomes) {
  std::size_t best = outcomes.size();
  for (std::size_t i = 0; i < outcomes.size() && outcomes.size() > 1; ++i)
    if (fits(outcomes[i].scenario, outcomes[i].result) &&
        (best == outcomes.size() || outcomes[i].result.metrics.iteration_s < outcomes[best].result.metrics.iteration_s))
      best = i;
  return best;
}

}  // namespace

std::string compare_report(const std::vector<Outcome>& outcomes, const Screen& screen) {
  const bool memory = std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& one) {
    return one.result.plan.step.zero > 0 || one.scenario.options.memory.limit.has_value();
  });
  std::vector<TableColumn> columns{"strategy", "iteration",       exposed_column, collectives_column,
                                   "speed-up", efficiency_column, "above bound"};
  if (memory) columns.emplace_back("memory");
  columns.emplace_back("options");
  Table table(columns);
  const std::vector<NamedValues> options = apart_from_common(outcomes);
  const std::size_t best = fastest(outcomes);
  bool all_fit = true;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto& [scenario, result, wall_s] = outcomes[i];
    const Metrics& m = result.metrics;
    const Tone tone = i == best ? Tone::Best : Tone::Plain;
    std::vector<TableCell> row{TableCell(scenario.strategy->name).with(tone),
                               cell::seconds(m.iteration_s).with(tone),
                               exposed_cell(m),
                               cell::count(m.collectives),
                               cell::number(m.speedup, 2),
                               cell::percent(m.efficiency),
                               above_bound_cell(m)};
    if (memory) row.push_back(memory_cell(scenario, result));
    row.emplace_back(options_text(options[i]));
    table.add(std::move(row));
    all_fit = all_fit && fits(scenario, result);
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
  if (!options.back().empty()) text += "\noptions of all: " + options_text(options.back());
  std::string notes = all_fit ? "" : memory_note(scenario);
  if (memory && !result.memory.parts.activations)
    notes += "note: memory is without activations: the trace says nothing of them\n";
  return wrapped(text, screen.width) + "\n\n" + table.text(screen) +
         wrapped(notes + caveat(scenario.profile), screen.width, 2);
}

}  // namespace allreplay
