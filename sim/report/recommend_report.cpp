#include "sim/report/recommend_report.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/core/text.hpp"
#include "sim/report/report.hpp"
#include "sim/report/table.hpp"
#include "sim/schedule/offer.hpp"
#include "sim/training/communication.hpp"
#include "sim/training/memory.hpp"
#include "sim/training/sharding.hpp"

namespace allreplay {

namespace {

const Metrics& metrics(const Advice& advice) { return advice.tuned.result.metrics; }
const Strategy& strategy(const Advice& advice) { return *advice.tuned.scenario.strategy; }

std::string gap(const Advice& advice) {
  const Metrics& m = metrics(advice);
  return m.lower_bound_s ? percent(m.iteration_s / *m.lower_bound_s - 1) : "-";
}

std::string heading(const Advice& advice) {
  const auto& [scenario, result, wall_s] = advice.tuned;
  const Metrics& m = result.metrics;
  return fmt::format("{} on {}, {}, {}{}\nforward {}, backward {}, {} of gradients in {} tensors",
                     scenario.profile->name, scenario.cluster.name, result.collective, result.fidelity,
                     scenario.codec ? ", " + scenario.codec->name : "", format_duration(m.forward_s),
                     format_duration(m.backward_s), format_size(scenario.profile->bytes()),
                     scenario.profile->tensors.size());
}

// What no schedule can change.
std::string limits(const Advice& advice) {
  const auto& [scenario, result, wall_s] = advice.tuned;
  const Metrics& m = result.metrics;
  const double compute = m.forward_s + m.backward_s, all = to_seconds(communication_of(scenario).fabric->price(
                                                         planned_call(scenario))(scenario.profile->bytes()));
  if (!m.lower_bound_s) return "";
  if (result.plan.step.zero > 0)  // what is sent is the schedule's own
    return fmt::format("Computing takes {}; with what it sends, the fastest cannot take less than {} an iteration.\n",
                       format_duration(static_cast<double>(result.plan.step.accumulate) * compute + m.update_s),
                       format_duration(*m.lower_bound_s));
  const double factor = slowest(worker_classes(scenario.stragglers, scenario.workers));
  std::string text =
      fmt::format("Computing takes {}{}, and sending all gradients at once {}. ", format_duration(factor * compute),
                  factor > 1 ? " on the slowest worker" : "", format_duration(all));
  const double ceiling = compute / *m.lower_bound_s;
  if (factor > 1 && all <= factor * compute)
    text += fmt::format(
        "The slowest worker is the limit:\nthe others wait for it, and no schedule exceeds {} efficiency. Without it, "
        "{} per iteration would be saved.",
        percent(ceiling), format_duration((factor - 1) * compute));
  else if (all > compute)
    text += fmt::format(
        "The network is the limit:\nno lossless schedule on this collective exceeds {} efficiency. Beyond that only "
        "fewer bytes (compression,\n"
        "half precision), more work per iteration (larger or accumulated batches) or a faster network help.",
        percent(ceiling));
  else
    text +=
        fmt::format("Communication can hide behind computation: up to {} efficiency is possible.", percent(ceiling));
  return text + "\n";
}

std::string indented(const std::string& code) {
  std::string text = "    ";
  for (std::size_t i = 0; i < code.size(); ++i) {
    text += code[i];
    if (code[i] == '\n' && code[i + 1] != '\n') text += "    ";
  }
  return text;
}

std::string saving(double from, double to) { return fmt::format("{:.1f} % less", 100 * (1 - to / from)); }

std::vector<Advice>::const_iterator fastest_offered(const std::vector<Advice>& ranking) {
  return std::find_if(ranking.begin(), ranking.end(), [](const Advice& advice) {
    return strategy(advice).offer.maintained && fits(advice.tuned.scenario, advice.tuned.result);
  });
}

std::string whether_compression_pays(const Advice& fastest) {
  const auto [name, least] = fastest_uncompressed(fastest.tuned.scenario);
  const double now = metrics(fastest).iteration_s;
  return fmt::format("Without compression {} takes {} as it comes: {}.\n", name, format_duration(least),
                     now < least ? fmt::format("{} pays, {}", fastest.tuned.scenario.codec->name, saving(least, now))
                                 : fmt::format("{} does not pay here", fastest.tuned.scenario.codec->name));
}

// What was simulated, word for word.
std::string replayed_by(const Advice& advice) {
  return advice.run.empty() ? "" : fmt::format("Replayed by `allreplay run {}`.\n", shell_words(advice.run));
}

// What to set, or to paste; `gain` ends what was said before.
std::string settings_text(const Advice& advice, const std::string& gain) {
  return (advice.settings.find('\n') == std::string::npos
              ? fmt::format(": {}{}.\n", advice.settings, gain)
              : fmt::format("{}:\n\n{}\n\n", gain, indented(advice.settings))) +
         replayed_by(advice);
}

std::string what_to_do(const std::vector<Advice>& ranking) {
  if (ranking.front().tuned.scenario.codec)
    return replayed_by(ranking.front()) + whether_compression_pays(ranking.front());
  std::string text;
  const auto first = fastest_offered(ranking);
  if (first != ranking.end()) {
    const double now = metrics(*first).iteration_s;
    text += fmt::format("Of what maintained frameworks offer, {} is the fastest", strategy(*first).name);
    const std::string gain =
        now < first->given_s * (1 - 1e-4)
            ? fmt::format(", {} time than as given ({})", saving(first->given_s, now), format_duration(first->given_s))
            : "; tuning gains nothing";
    text += settings_text(*first, gain);
    const double best = metrics(ranking.front()).iteration_s;
    if (best >= now * (1 - 1e-3)) return text + "Nothing listed here is faster by more than 0.1 %.\n";
    text += fmt::format("{} takes {} than that", strategy(ranking.front()).name, saving(now, best));
  } else {
    text += fmt::format("{} is the fastest", strategy(ranking.front()).name);
  }
  return text + settings_text(ranking.front(), "");
}

}  // namespace

std::string recommend_report(const std::vector<Advice>& ranking) {
  std::vector<std::vector<std::string>> rows{
      {"", "strategy", "iteration", "untuned", "speed-up", "efficiency", "exposed comm.", "above bound", "settings"}};
  const bool memory = std::any_of(ranking.begin(), ranking.end(), [](const Advice& one) {
    return one.tuned.result.plan.step.zero > 0 || one.tuned.scenario.options.memory.limit.has_value();
  });
  if (memory) rows[0].insert(rows[0].end() - 1, "memory");
  for (const Advice& advice : ranking) {
    const Metrics& m = metrics(advice);
    rows.push_back({std::to_string(rows.size()), std::string(strategy(advice).name), format_duration(m.iteration_s),
                    advice.given_s > m.iteration_s ? format_duration(advice.given_s) : "",
                    fmt::format("{:.2f}", m.speedup), percent(m.efficiency), format_duration(m.exposed_comm_s),
                    gap(advice), in_one_line(advice.settings)});
    if (memory) rows.back().insert(rows.back().end() - 1, memory_text(advice.tuned.scenario, advice.tuned.result));
  }
  const Scenario& scenario = ranking.front().tuned.scenario;
  return fmt::format("{} workers: {}\n\n{}\n{}{}", scenario.workers, heading(ranking.front()), format_table(rows),
                     limits(ranking.front()), what_to_do(ranking)) +
         caveat(scenario.profile);
}

std::string scaling_report(const std::vector<std::vector<Advice>>& sizes, double line) {
  std::vector<std::vector<std::string>> rows{{"efficiency with"}};
  for (const auto& ranking : sizes) rows[0].push_back(std::to_string(ranking.front().tuned.scenario.workers));
  rows[0].push_back(fmt::format("at least {} %", 100 * line));
  // What was ruled out for this number of workers has none.
  const auto efficiency_of = [](const std::vector<Advice>& ranking, std::string_view name) {
    const auto found = std::find_if(ranking.begin(), ranking.end(),
                                    [&](const Advice& advice) { return strategy(advice).name == name; });
    return found == ranking.end() ? std::optional<double>() : metrics(*found).efficiency;
  };
  const auto append = [&](const std::string& name, const auto& efficiency) {
    std::vector<std::string> row{name};
    std::int64_t last = 0;
    bool above = true;
    for (const auto& ranking : sizes) {
      const std::optional<double> value = efficiency(ranking);
      above = above && value && *value >= line;
      if (above) last = ranking.front().tuned.scenario.workers;
      row.push_back(value ? percent(*value) : "-");
    }
    row.push_back(last == 0 ? "at none" : above ? "at all" : fmt::format("up to {}", last));
    rows.push_back(std::move(row));
  };
  for (const Advice& advice : sizes.back())
    append(std::string(strategy(advice).name),
           [&](const auto& ranking) { return efficiency_of(ranking, strategy(advice).name); });
  if (metrics(sizes.front().front()).lower_bound_s)
    append("(lower bound)", [&](const auto& ranking) {
      const Metrics& m = metrics(ranking.front());
      return std::optional(m.lower_bound_s ? m.efficiency * m.iteration_s / *m.lower_bound_s : 1.0);
    });
  std::string text =
      heading(sizes.front().front()) + "\n\n" + format_table(rows) +
      (sizes.front().front().tuned.scenario.codec ? "\nThe schedule to compress under:\n"
                                                  : "\nThe fastest of what maintained frameworks offer:\n");
  for (const auto& ranking : sizes) {
    const auto offered = fastest_offered(ranking);
    const bool coded = ranking.front().tuned.scenario.codec.has_value();
    const Advice& advice = coded || offered == ranking.end() ? ranking.front() : *offered;
    text += fmt::format("{:>8} workers: {}, {} with {}\n", advice.tuned.scenario.workers, strategy(advice).name,
                        format_duration(metrics(advice).iteration_s), in_one_line(advice.settings));
  }
  return text + caveat(sizes.front().front().tuned.scenario.profile);
}

std::string recommend_json(const std::vector<std::vector<Advice>>& sizes) {
  auto rows = nlohmann::ordered_json::array();
  for (const auto& ranking : sizes)
    for (const Advice& advice : ranking) {
      Row row = row_of(advice.tuned);
      const Metrics& m = metrics(advice);
      const std::string_view framework = strategy(advice).offer.framework;
      row.push_back({"gap", m.lower_bound_s ? Cell(m.iteration_s / *m.lower_bound_s - 1) : Cell()});
      row.push_back({"untuned_iteration_s", advice.given_s});
      row.push_back({"framework", framework.empty() ? Cell() : Cell(std::string(framework))});
      row.push_back({"settings", advice.settings});
      rows.push_back(nlohmann::ordered_json::parse(to_json(row)));
      rows.back()["run"] = advice.run;
    }
  return rows.dump(2);
}

}  // namespace allreplay
