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

std::string memory_text(const Scenario& scenario, const Result& result) {
  const std::string size = format_size(static_cast<Bytes>(std::llround(result.memory.peak)));
  if (!fits(scenario, result)) return fmt::format("{}, does not fit into {}", size, limit_text(scenario));
  const std::optional<double> free = free_share(scenario.options.memory.limit, result.memory.peak);
  if (leaves_room(free, WinningRule{})) return size;
  return fmt::format("{}, fits into {} with {} free: allocators and libraries may need a tenth", size,
                     limit_text(scenario), percent(*free));
}

namespace {

// The parts that hold anything, each at its own peak.
std::string memory_parts(const MemoryUse& memory) {
  const MemoryParts& parts = memory.parts;
  std::string text;
  double sum = 0;
  for (const auto& [name, bytes] : {std::pair("parameters", parts.parameters),
                                    {"gradients", parts.gradients},
                                    {"optimizer", parts.optimizer},
                                    {"gathered", parts.gathered},
                                    {"in reduction", parts.in_reduction},
                                    {"activations", parts.activations.value_or(0)},
                                    {"step", parts.step}}) {
    sum += bytes;
    if (bytes > 0)
      text +=
          fmt::format("{}{} {}", text.empty() ? "" : ", ", name, format_size(static_cast<Bytes>(std::llround(bytes))));
  }
  return text + (sum > memory.peak + 0.5 ? "; peaks of each part, which do not coincide" : "") +
         (parts.activations ? "" : "; the profile has no activations");
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

namespace {

std::string throughput_text(const Scenario& scenario, const Metrics& metrics) {
  if (!metrics.samples_per_s) return "unknown: the profile has no batch size";
  const SpeedPerGpu speed = speed_per_gpu(scenario, metrics);
  std::vector<std::string> each;
  if (speed.tokens_per_s) each.push_back(fmt::format("{:.1f} tokens/s", *speed.tokens_per_s));
  if (speed.mfu) each.push_back(fmt::format("{} MFU", percent(*speed.mfu)));
  return rate_text(metrics.samples_per_s, 0) +
         (each.empty() ? "" : fmt::format(" (per GPU: {})", fmt::join(each, ", ")));
}

// Relative to what fits.
std::string scaling_text(const Outcome& outcome, const ScalingReference& reference) {
  const Scenario& scenario = outcome.scenario;
  const double relative = reference.relative(outcome);
  const auto workers = static_cast<double>(scenario.workers);
  if (reference.workers == 1)
    return fmt::format("{:.2f} of {} ({} efficiency)", relative * workers, scenario.workers, percent(relative));
  return fmt::format("{} of a GPU's throughput on {}, the smallest size that fits", percent(relative),
                     workers_text(reference.workers));
}

}  // namespace

std::string run_report(const Outcome& outcome, const ScalingReference& reference, const Screen& screen) {
  const auto& [scenario, result, wall_s] = outcome;
  const Metrics& m = result.metrics;
  const std::int64_t count = result.plan.sharding.accumulate;
  const std::string batches = count > 1 ? fmt::format("{} x ", count) : "";
  const auto part_text = [&](double seconds) {
    return fmt::format("{} ({} of the iteration)", format_duration(std::abs(seconds)),
                       percent(std::abs(seconds) / m.iteration_s));
  };
  const auto parallel_time = [&](double ParallelResult::*part) {
    const double seconds = result.parallel ? (*result.parallel).*part : 0;
    return seconds != 0 ? format_duration(seconds) : std::string();
  };
  // A pipeline's ranks have parts of the model: the parts of an iteration are means over them.
  const std::int64_t ranks = scenario.options.parallel.pp;
  const std::string of_ranks = ranks > 1 ? fmt::format(", the mean of {} ranks", ranks) : "";
  const auto pass_time = [&](double seconds) {
    return batches + format_duration(seconds / static_cast<double>(ranks)) + of_ranks;
  };
  std::vector<std::pair<std::string, TableCell>> lines{
      {"strategy", strategy_text(scenario)},
      {"codec", codec_text(scenario)},
      {"options", options_text(options_to_show(scenario))},
      {"schedule", chosen_schedule(outcome)},
      {"iteration", format_duration(m.iteration_s)},
      {"  forward", pass_time(m.forward_s)},
      {"  backward", pass_time(m.backward_s)},
      {"  update", m.update_s > 0 ? format_duration(m.update_s) + of_ranks : ""},
      {"  encoding and decoding", scenario.codec ? format_duration(m.codec_s) : ""},
      {m.straggler_s < 0 ? "  saved by fast workers" : "  stragglers",
       m.straggler_s != 0 ? part_text(m.straggler_s) : ""},
      {"  exposed communication", TableCell(part_text(m.exposed_comm_s)).with(exposed_cell(m).tone)},
      {"  of it, reductions and gathers", parallel_time(&ParallelResult::exposed_dp_s)},
      {"  of it, sends between ranks", parallel_time(&ParallelResult::exposed_p2p_s)},
      {"  of it, inside layers", parallel_time(&ParallelResult::layer_comm_s)},
      {"  bubble", ranks > 1 ? part_text(result.parallel->bubble_s) + of_ranks : ""},
      {"communication in flight",
       fmt::format("{} in {}", format_duration(m.comm_busy_s), counted(m.collectives, "collective"))},
      {"scaling", scaling_text(outcome, reference)},
      {"throughput", throughput_text(scenario, m)},
      {"memory of a worker", fmt::format("{} ({})", memory_text(scenario, result), memory_parts(result.memory))},
      {"lower bound", m.lower_bound_s ? fmt::format("{} (this is {} above)", format_duration(*m.lower_bound_s),
                                                    percent(m.iteration_s / *m.lower_bound_s - 1))
                                      : ""}};
  std::erase_if(lines, [](const auto& line) { return line.second.text.empty(); });
  const std::string note = efficiency_note({outcome}, {reference}) + doubts({outcome}) + caveat(scenario.profile);
  return wrapped(title(scenario), screen.width) + "\n\n" + facts(lines, screen) +
         (note.empty() ? "" : "\n" + wrapped(note, screen.width, 2));
}

}  // namespace allreplay
