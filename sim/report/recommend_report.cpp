#include "sim/report/recommend_report.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/core/text.hpp"
#include "sim/report/report.hpp"
#include "sim/schedule/offer.hpp"
#include "sim/training/communication.hpp"
#include "sim/training/memory.hpp"
#include "sim/training/sharding.hpp"

namespace allreplay {

namespace {

const Metrics& metrics(const Advice& advice) { return advice.tuned.result.metrics; }
const Strategy& strategy(const Advice& advice) { return *advice.tuned.scenario.strategy; }

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
        "The slowest worker is the limit: the others wait for it, and no schedule exceeds {} efficiency. Without it, "
        "{} per iteration would be saved.",
        percent(ceiling), format_duration((factor - 1) * compute));
  else if (all > compute)
    text += fmt::format(
        "The network is the limit: no lossless schedule on this collective exceeds {} efficiency. Beyond that only "
        "fewer bytes (compression, "
        "half precision), more work per iteration (larger or accumulated batches) or a faster network help.",
        percent(ceiling));
  else
    text +=
        fmt::format("Communication can hide behind computation: up to {} efficiency is possible.", percent(ceiling));
  return text + "\n";
}

// Lines of code stay lines: where one is too long, what is left of it is set in.
std::string indented(const std::string& code, const Screen& screen) {
  std::string text = "    ";
  for (std::size_t i = 0; i < code.size(); ++i) {
    text += code[i];
    if (code[i] == '\n' && code[i + 1] != '\n') text += "    ";
  }
  return wrapped(text, screen.width, 8);
}

std::string saving(double from, double to) { return fmt::format("{:.1f} % less", 100 * (1 - to / from)); }

std::vector<Advice>::const_iterator fastest_offered(const std::vector<Advice>& ranking) {
  return std::find_if(ranking.begin(), ranking.end(), [](const Advice& advice) {
    return strategy(advice).offer.maintained && fits(advice.tuned.scenario, advice.tuned.result);
  });
}

// Both as they come: tuning is no merit of compression.
std::string whether_compression_pays(const std::vector<Advice>& ranking) {
  const auto fastest = std::min_element(ranking.begin(), ranking.end(),
                                        [](const Advice& a, const Advice& b) { return a.given_s < b.given_s; });
  const auto [name, least] = fastest_uncompressed(ranking);
  const std::string& codec = fastest->tuned.scenario.codec->name;
  return fmt::format("Untuned, {} takes {} with {}, and {} {} without: {}.\n", strategy(*fastest).name,
                     format_duration(fastest->given_s), codec, name, format_duration(least),
                     fastest->given_s < least ? fmt::format("{} pays, {}", codec, saving(least, fastest->given_s))
                                              : fmt::format("{} does not pay here", codec));
}

// What was simulated, word for word.
std::string replayed_by(const Advice& advice, const Screen& screen) {
  if (advice.run.empty()) return "";
  return wrapped(fmt::format("Replayed by `allreplay run {}`.\n", shell_words(advice.run)), screen.width, 2);
}

// What to set, or to paste, after what is `said` of it; `gain` ends that.
std::string settings_text(const std::string& said, const Advice& advice, const std::string& gain,
                          const Screen& screen) {
  const bool short_settings = advice.settings.find('\n') == std::string::npos;
  const std::string sentence =
      said + (short_settings ? fmt::format(": {}{}.\n", advice.settings, gain) : gain + ":\n\n");
  return wrapped(sentence, screen.width) + (short_settings ? "" : indented(advice.settings, screen) + "\n\n") +
         replayed_by(advice, screen);
}

std::string what_to_do(const std::vector<Advice>& ranking, const Screen& screen) {
  if (ranking.front().tuned.scenario.codec)
    return replayed_by(ranking.front(), screen) + wrapped(whether_compression_pays(ranking), screen.width);
  std::string text, said;
  const auto first = fastest_offered(ranking);
  if (first != ranking.end()) {
    const double now = metrics(*first).iteration_s;
    const std::string gain =
        now < first->given_s * (1 - 1e-4)
            ? fmt::format(", {} time than as given ({})", saving(first->given_s, now), format_duration(first->given_s))
            : "; tuning gains nothing";
    text = settings_text(fmt::format("Of what maintained frameworks offer, {} is the fastest", strategy(*first).name),
                         *first, gain, screen);
    const double best = metrics(ranking.front()).iteration_s;
    if (best >= now * (1 - 1e-3)) return text + "Nothing listed here is faster by more than 0.1 %.\n";
    said = fmt::format("{} takes {} than that", strategy(ranking.front()).name, saving(now, best));
  } else {
    said = fmt::format("{} is the fastest", strategy(ranking.front()).name);
  }
  return text + settings_text(said, ranking.front(), "", screen);
}

}  // namespace

std::string recommend_report(const std::vector<Advice>& ranking, const Screen& screen) {
  const bool memory = std::any_of(ranking.begin(), ranking.end(), [](const Advice& one) {
    return one.tuned.result.plan.step.zero > 0 || one.tuned.scenario.options.memory.limit.has_value();
  });
  std::vector<TableColumn> columns{
      "",         "strategy",         "iteration",    TableColumn("untuned").like("iteration"),
      "speed-up", efficiency_column, exposed_column, "above bound"};
  if (memory) columns.emplace_back("memory");
  columns.emplace_back("settings");
  Table table(columns, 2);
  bool all_fit = true;
  for (const Advice& advice : ranking) {
    const Metrics& m = metrics(advice);
    const Tone tone = &advice == ranking.data() ? Tone::Best : Tone::Plain;
    std::vector<TableCell> row{cell::count(1 + (&advice - ranking.data())),
                               TableCell(strategy(advice).name).with(tone),
                               cell::seconds(m.iteration_s).with(tone),
                               advice.given_s > m.iteration_s ? cell::seconds(advice.given_s) : TableCell(),
                               cell::number(m.speedup, 2),
                               cell::percent(m.efficiency),
                               exposed_cell(m),
                               above_bound_cell(m)};
    if (memory) row.push_back(memory_cell(advice.tuned.scenario, advice.tuned.result));
    row.emplace_back(in_one_line(advice.settings));
    table.add(std::move(row));
    all_fit = all_fit && fits(advice.tuned.scenario, advice.tuned.result);
  }
  const Scenario& scenario = ranking.front().tuned.scenario;
  return wrapped(fmt::format("{} workers: {}", scenario.workers, heading(ranking.front())), screen.width) + "\n\n" +
         table.text(screen) + (all_fit ? "" : memory_note(scenario)) + "\n" +
         wrapped(limits(ranking.front()), screen.width) + what_to_do(ranking, screen) +
         wrapped(caveat(scenario.profile), screen.width, 2);
}

std::string scaling_report(const std::vector<std::vector<Advice>>& sizes, double line, const Screen& screen) {
  std::vector<TableColumn> columns{"efficiency with"};
  for (const auto& ranking : sizes) columns.emplace_back(std::to_string(ranking.front().tuned.scenario.workers));
  columns.emplace_back(fmt::format("at least {} %", 100 * line));
  Table table(columns);
  // What was ruled out for this number of workers has none.
  const auto efficiency_of = [](const std::vector<Advice>& ranking, std::string_view name) {
    const auto found = std::find_if(ranking.begin(), ranking.end(),
                                    [&](const Advice& advice) { return strategy(advice).name == name; });
    return found == ranking.end() ? std::optional<double>() : metrics(*found).efficiency;
  };
  const auto append = [&](const std::string& name, const auto& efficiency) {
    std::vector<TableCell> row{name};
    std::int64_t last = 0;
    bool above = true;
    for (const auto& ranking : sizes) {
      const std::optional<double> value = efficiency(ranking);
      above = above && value && *value >= line;
      if (above) last = ranking.front().tuned.scenario.workers;
      row.push_back(value ? cell::percent(*value) : TableCell("-"));
    }
    row.emplace_back(last == 0 ? "at none" : above ? "at all" : fmt::format("up to {}", last));
    table.add(std::move(row));
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
      wrapped(heading(sizes.front().front()), screen.width) + "\n\n" + table.text(screen) +
      (sizes.front().front().tuned.scenario.codec ? "\nThe schedule to compress under:\n"
                                                  : "\nThe fastest of what maintained frameworks offer:\n");
  for (const auto& ranking : sizes) {
    const auto offered = fastest_offered(ranking);
    const bool coded = ranking.front().tuned.scenario.codec.has_value();
    const Advice& advice = coded || offered == ranking.end() ? ranking.front() : *offered;
    text += wrapped(fmt::format("{:>8} workers: {}, {} with {}\n", advice.tuned.scenario.workers, strategy(advice).name,
                                format_duration(metrics(advice).iteration_s), in_one_line(advice.settings)),
                    screen.width, 10);
  }
  return text + wrapped(caveat(sizes.front().front().tuned.scenario.profile), screen.width, 2);
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
