#include "sim/report/report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/text.hpp"
#include "sim/estimate/device.hpp"
#include "sim/experiment/row.hpp"
#include "sim/report/verdict.hpp"
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
  if (fits(scenario, result)) return size;
  return fmt::format("{}, does not fit into {}", size, write_size(*scenario.options.memory.limit));
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

TableCell memory_cell(const Scenario& scenario, const Result& result) {
  const TableCell cell = cell::bytes(result.memory.peak);
  return fits(scenario, result) ? cell : cell.marked("!");
}

std::string memory_note(const Scenario& scenario) {
  return fmt::format("! does not fit into the {} of a worker\n", write_size(*scenario.options.memory.limit));
}

bool tells_memory(const std::vector<Outcome>& outcomes) {
  return std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& one) {
    return one.result.plan.sharding.shards_optimizer() || one.scenario.options.memory.limit.has_value();
  });
}

std::string limit_note(const Outcome& one, bool told) {
  const auto& [scenario, result, wall_s] = one;
  const auto& limit = scenario.options.memory.limit;
  const bool activations = result.memory.parts.activations.has_value();
  const auto& device = scenario.device;
  std::string note;
  if (device && limit == device->memory)
    note =
        fmt::format("the memory of a worker is {}, what {} has (another: --memory)", write_size(*limit), device->name);
  if (!limit && (told || activations)) {
    note = fmt::format("memory is not checked (give --memory {})",
                       device ? fmt::format("{}, what {} has", without_blanks(write_size(device->memory)), device->name)
                              : "of a worker, such as 80GB");
  }
  if (told && !activations)
    note +=
        fmt::format("{} without activations: the trace says nothing of them", note.empty() ? "memory is" : ", and is");
  return note.empty() ? "" : fmt::format("note: {}\n", note);
}

std::string memory_notes(const std::vector<Outcome>& outcomes) {
  const bool all_fit =
      std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& one) { return fits(one.scenario, one.result); });
  return (all_fit ? "" : memory_note(outcomes.front().scenario)) + limit_note(outcomes.front(), tells_memory(outcomes));
}

std::string efficiency_note(const Outcome& one) {
  constexpr double hardly = 1.0005;  // 100.0 %
  if (!one.result.plan.sharding.shards_optimizer() || one.result.metrics.efficiency < hardly) return "";
  return "note: an efficiency above 100 %: the optimizer is sharded, so that each worker updates less than one alone\n";
}

std::string efficiency_note(const std::vector<Outcome>& outcomes) {
  std::string note;
  for (const Outcome& one : outcomes)
    if (note.empty()) note = efficiency_note(one);
  return note;
}

std::string doubts(const std::vector<Outcome>& outcomes) {
  const auto drawn = [](const Outcome& one) { return one.scenario.stragglers.jitter.has_value(); };
  const auto searched_elsewhere = [](const Outcome& one) {
    const Metrics& m = one.result.metrics;
    const bool optimal = m.lower_bound_s && m.iteration_s <= 1.001 * *m.lower_bound_s;
    return one.result.fidelity == Fidelity::Message && !one.scenario.given && one.scenario.strategy->searched() &&
           !optimal;
  };
  std::string text;
  if (outcomes.size() > 1 && std::any_of(outcomes.begin(), outcomes.end(), drawn))
    text +=
        "note: with jitter every strategy draws times of its own: small differences are chance (try another seed)\n";
  if (std::any_of(outcomes.begin(), outcomes.end(), searched_elsewhere))
    text += "note: best is what the search finds in alpha-beta: in message others may be faster\n";
  return text;
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

namespace {

std::string throughput_text(const Scenario& scenario, const Metrics& metrics) {
  if (!metrics.samples_per_s) return "unknown: the profile gives no batch size";
  const SpeedPerGpu speed = speed_per_gpu(scenario, metrics);
  std::vector<std::string> each;
  if (speed.tokens_per_s) each.push_back(fmt::format("{:.1f} tokens/s", *speed.tokens_per_s));
  if (speed.mfu) each.push_back(fmt::format("{} MFU", percent(*speed.mfu)));
  return fmt::format("{:.1f} samples/s", *metrics.samples_per_s) +
         (each.empty() ? "" : fmt::format(" (of a GPU {})", fmt::join(each, ", ")));
}

}  // namespace

std::string run_report(const Outcome& outcome, const Screen& screen) {
  const auto& [scenario, result, wall_s] = outcome;
  const Metrics& m = result.metrics;
  const std::int64_t count = result.plan.sharding.accumulate;
  const std::string batches = count > 1 ? fmt::format("{} x ", count) : "";
  const TableCell exposed(fmt::format("{} ({} of the iteration)", format_duration(m.exposed_comm_s),
                                      percent(m.exposed_comm_s / m.iteration_s)));
  const auto parallel_time = [&](double ParallelResult::*part) {
    return result.parallel ? format_duration((*result.parallel).*part) : std::string();
  };
  std::vector<std::pair<std::string, TableCell>> lines{
      {"strategy", std::string(scenario.strategy->name)},
      {"codec", codec_text(scenario)},
      {"options", options_text(options_that_matter(scenario))},
      {"schedule", chosen_schedule(outcome)},
      {"iteration", format_duration(m.iteration_s)},
      {"  forward", batches + format_duration(m.forward_s)},
      {"  backward", batches + format_duration(m.backward_s)},
      {"  update", m.update_s > 0 ? format_duration(m.update_s) : ""},
      {"  encoding and decoding", scenario.codec ? format_duration(m.codec_s) : ""},
      {scenario.stragglers.any() ? "  exposed, and waiting for the slow" : "  exposed communication",
       exposed.with(exposed_cell(m).tone)},
      {"  of it reductions and gathers", parallel_time(&ParallelResult::exposed_dp_s)},
      {"  of it sends between ranks", parallel_time(&ParallelResult::exposed_p2p_s)},
      {"  of it inside layers", parallel_time(&ParallelResult::layer_comm_s)},
      {"  bubble", parallel_time(&ParallelResult::bubble_s)},
      {"communication in flight",
       fmt::format("{} in {}", format_duration(m.comm_busy_s), counted(m.collectives, "collective"))},
      {"speed-up", fmt::format("{:.2f} of {} ({} efficiency)", m.speedup, scenario.workers, percent(m.efficiency))},
      {"throughput", throughput_text(scenario, m)},
      {"memory of a worker", fmt::format("{} ({})", memory_text(scenario, result), memory_parts(result.memory.parts))},
      {"lower bound", m.lower_bound_s ? fmt::format("{} (this is {} above)", format_duration(*m.lower_bound_s),
                                                    percent(m.iteration_s / *m.lower_bound_s - 1))
                                      : "none"}};
  std::erase_if(lines, [](const auto& line) { return line.second.text.empty(); });
  const std::string note = efficiency_note(outcome) + doubts({outcome}) + caveat(scenario.profile);
  return wrapped(title(scenario), screen.width) + "\n\n" + facts(lines, screen) +
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

}  // namespace

namespace {

// What one bound holds for: those that do not shard.
std::vector<Outcome> without_shards(const std::vector<Outcome>& outcomes) {
  std::vector<Outcome> whole;
  for (const Outcome& one : outcomes) {
    if (one.result.plan.sharding.shards_optimizer()) continue;
    whole.push_back({one.scenario, {}, 0});
    whole.back().result.metrics = one.result.metrics;
  }
  return whole;
}

// What holds for every row.
std::string compare_heading(const std::vector<Outcome>& outcomes, const ScenarioLabels& names,
                            const NamedValues& options) {
  const auto& [scenario, result, wall_s] = outcomes.front();
  std::string text = names.title();
  if (scenario.codec && !names.differ_in("codec")) text += "\n" + codec_text(scenario);
  const std::int64_t batches = result.plan.sharding.accumulate;
  text += fmt::format("\n{}forward {}, backward {}, {} of gradients",
                      batches > 1 ? fmt::format("{} micro-batches: ", batches) : "",
                      format_duration(result.metrics.forward_s), format_duration(result.metrics.backward_s),
                      format_size(scenario.profile->bytes()));
  const std::vector<Outcome> whole = without_shards(outcomes);
  if (const auto bound = lower_bound(whole); bound && names.on_one_network())
    text += fmt::format("; no lossless schedule {}is faster than {}",
                        whole.size() < outcomes.size() ? "without shards " : "", format_duration(*bound));
  if (!options.empty()) text += "\noptions of all: " + options_text(options);
  return text;
}

// Those of each strategy, once where it has the same everywhere.
std::string options_by_strategy(const std::vector<Outcome>& outcomes, const std::vector<NamedValues>& options,
                                const Screen& screen) {
  std::vector<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const std::pair one(std::string(outcomes[i].scenario.strategy->name), options_text(options[i]));
    if (!one.second.empty() && std::find(seen.begin(), seen.end(), one) == seen.end()) seen.push_back(one);
  }
  if (seen.empty()) return "";
  Table table({"strategy", "options"});
  for (const auto& [strategy, text] : seen) table.add({strategy, text});
  return "\n" + table.text(screen);
}

}  // namespace

std::string compare_report(const std::vector<Outcome>& outcomes, const Screen& screen) {
  const bool memory = tells_memory(outcomes);
  const ScenarioLabels names = labels_of(outcomes);
  std::vector<TableColumn> columns;
  std::vector<std::string> keys;  // what tells a row
  for (const std::string_view key : {"workers", "strategy", "cluster", "collective", "fidelity", "codec"})
    if (key == "strategy" || names.differ_in(key)) keys.emplace_back(key);
  for (const std::string& key : keys) columns.emplace_back(key);
  const bool narrow = keys.size() > 1;  // the names need the room
  columns.insert(columns.end(), {TableColumn("iteration"), exposed_column});
  if (!narrow) columns.insert(columns.end(), {TableColumn(collectives_column), TableColumn("speed-up")});
  columns.insert(columns.end(), {TableColumn(efficiency_column), TableColumn("above bound")});
  if (memory) columns.emplace_back("memory");
  if (!narrow) columns.emplace_back("options");
  Table table(columns, keys.size());
  const std::vector<NamedValues> options = apart_from_common(outcomes);
  for (const Standing& standing : in_order(outcomes)) {
    const auto& [scenario, result, wall_s] = outcomes[standing.place];
    const Metrics& m = result.metrics;
    const Tone tone = standing.first ? Tone::Best : Tone::Plain;
    std::vector<TableCell> row;
    for (const std::string& key : keys)
      row.push_back(TableCell(names.name(standing.place, key)).with(key == "strategy" ? tone : Tone::Plain));
    row.insert(row.end(), {cell::seconds(m.iteration_s).with(tone), exposed_cell(m)});
    if (!narrow) row.insert(row.end(), {cell::count(m.collectives), cell::number(m.speedup, 2)});
    row.insert(row.end(), {cell::percent(m.efficiency), above_bound_cell(m)});
    if (memory) row.push_back(memory_cell(scenario, result));
    if (!narrow) row.emplace_back(options_text(options[standing.place]));
    table.add(std::move(row));
  }
  const std::string apart_options = narrow ? options_by_strategy(outcomes, options, screen) : "";
  std::string said = verdict(outcomes);
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (const std::string chosen = chosen_schedule(outcomes[i]); !chosen.empty())
      said += fmt::format("{}: {}.\n", names.label(i), chosen);
  return wrapped(compare_heading(outcomes, names, options.back()), screen.width) + "\n\n" + table.text(screen) +
         apart_options + (said.empty() ? "" : "\n" + wrapped(said, screen.width)) +
         wrapped(memory_notes(outcomes) + efficiency_note(outcomes) + doubts(outcomes) +
                     caveat(outcomes.front().scenario.profile),
                 screen.width, 2);
}

}  // namespace allreplay
