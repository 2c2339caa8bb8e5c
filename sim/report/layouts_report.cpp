#include "sim/report/layouts_report.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/json_value.hpp"
#include "sim/core/text.hpp"
#include "sim/experiment/framework_words.hpp"
#include "sim/report/phrases.hpp"
#include "sim/report/report.hpp"
#include "sim/report/result_rows.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

namespace {

std::string recompute_text(const ModelLayout& layout) {
  return std::string(name_of(recompute_rules, layout.recompute));
}

bool fits(const LayoutTrial& trial) { return fits(trial.outcome.scenario, trial.outcome.result); }

std::string schedule_text(const ModelLayout& layout) {
  if (layout.pp == 1) return "-";
  return layout.chunks > 1 ? fmt::format("{} x{}", layout.schedule, layout.chunks) : layout.schedule;
}

std::span<const LayoutTrial> shown(const LayoutAdvice& advice) {
  return std::span(advice.ranking).first(std::min(layouts_shown, advice.ranking.size()));
}

bool leaves_room(const LayoutTrial& trial, const WinningRule& rule) {
  const auto& [scenario, result, wall_s] = trial.outcome;
  return leaves_room(free_share(scenario.options.memory.limit, result.memory.peak), rule);
}

std::string layouts_table(const LayoutAdvice& advice, const WinningRule& rule, const Screen& screen) {
  const auto all = shown(advice);
  const bool stragglers = std::any_of(
      all.begin(), all.end(), [](const LayoutTrial& one) { return one.outcome.result.metrics.straggler_s != 0; });
  const auto differ = [&](const auto& text) {
    return std::any_of(all.begin(), all.end(),
                       [&](const LayoutTrial& one) { return text(one.layout) != text(all.front().layout); });
  };
  const auto strategy_text = [](const ModelLayout& one) { return one.strategy; };
  const bool strategies = differ(strategy_text), recomputes = differ(recompute_text);
  std::vector<TableColumn> columns{"", "pp", "tp", "cp", "schedule", "batch"};
  if (recomputes) columns.emplace_back("recompute");
  if (strategies) columns.emplace_back("strategy");
  for (const char* one : {"iteration", "MFU", "bubble"}) columns.emplace_back(one);
  if (stragglers) columns.emplace_back("slow");
  for (const char* one : {"grads", "sends", "in layers", "memory"}) columns.emplace_back(one);
  Table table(columns);
  for (std::size_t i = 0; i < shown(advice).size(); ++i) {
    const auto& [layout, outcome, estimate, run, framework, settings] = advice.ranking[i];
    const Metrics& metrics = outcome.result.metrics;
    const auto& parallel = outcome.result.parallel;
    const auto share = [&](double seconds) { return cell::percent(seconds / metrics.iteration_s); };
    const TableCell time = cell::seconds(metrics.iteration_s).with(i == 0 ? Tone::Best : Tone::Plain);
    const auto mfu = speed_per_gpu(outcome.scenario, metrics).mfu;
    std::vector<TableCell> row{cell::count(static_cast<std::int64_t>(i) + 1),
                               cell::count(layout.pp),
                               cell::count(layout.tp),
                               cell::count(layout.cp),
                               schedule_text(layout),
                               fmt::format("{} x {}", layout.micro_batches, layout.samples)};
    if (recomputes) row.emplace_back(recompute_text(layout));
    if (strategies) row.emplace_back(layout.strategy);
    row.push_back(i > 0 && i < advice.tied ? time.marked("~") : time);
    row.push_back(mfu ? cell::percent(*mfu) : TableCell("-"));
    row.push_back(share(parallel ? parallel->bubble_s : 0));
    if (stragglers) row.push_back(share(metrics.straggler_s));
    row.push_back(share(parallel ? parallel->exposed_dp_s : metrics.exposed_comm_s));
    row.push_back(share(parallel ? parallel->exposed_p2p_s : 0));
    row.push_back(share(parallel ? parallel->layer_comm_s : 0));
    row.push_back(
        memory_cell(outcome.result.memory.peak, fits(advice.ranking[i]), leaves_room(advice.ranking[i], rule)));
    table.add(std::move(row));
  }
  std::vector<std::string> alike;
  if (!strategies) alike.push_back(all.front().layout.strategy);
  if (!recomputes) alike.push_back("recompute " + recompute_text(all.front().layout));
  return (alike.empty() ? "" : fmt::format("all rows: {}\n\n", fmt::join(alike, ", "))) + table.text(screen);
}

// Names the rows whose first and last stages are shorter.
std::string uneven_note(std::span<const LayoutTrial> rows) {
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].layout.last_less > 0) numbers.push_back(std::to_string(i + 1));
  if (numbers.empty()) return "";
  const std::string which =
      numbers.size() == rows.size() ? "in all rows" : fmt::format("in rows {}", listed(numbers, numbers.size()));
  return which + " the first and last stages have fewer layers, since embedding and loss are there, too\n";
}

std::string verdict_text(const LayoutAdvice& advice, double tie) {
  if (advice.tied == 0) return "";  // nothing fits
  std::vector<Racer> tied;
  for (std::size_t i = 0; i < advice.tied; ++i) {
    const auto& [layout, outcome, estimate, run, framework, settings] = advice.ranking[i];
    const double seconds = outcome.result.metrics.iteration_s;
    tied.push_back({fmt::format("layout {}", i + 1), format_duration(seconds), seconds,
                    free_share(outcome.scenario.options.memory.limit, outcome.result.memory.peak)});
  }
  std::vector<Racer> others;  // for which memory is short
  for (std::size_t i = advice.tied; i < advice.ranking.size(); ++i) {
    const auto& [scenario, result, wall_s] = advice.ranking[i].outcome;
    others.push_back({fmt::format("layout {}", i + 1), format_duration(result.metrics.iteration_s),
                      result.metrics.iteration_s, free_share(scenario.options.memory.limit, result.memory.peak)});
  }
  return "\n" + winner_text(std::move(tied), others, tie) + "\n";
}

// A line of words that can be pasted, broken between them.
std::string command_text(const std::vector<std::string>& words, const Screen& screen) {
  std::string text, line = "  allreplay";
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = shell_words({words[i]});
    const bool value_follows = i + 1 < words.size() && words[i].starts_with("--") && !words[i + 1].starts_with("--");
    const std::string together = value_follows ? word + " " + shell_words({words[i + 1]}) : word;
    if (line.size() + together.size() + 3 > screen.width) {
      text += line + " \\\n";
      line = "   ";
    }
    line += " " + together;
    i += value_follows;
  }
  return text + line + "\n";
}

}  // namespace

std::string layout_words(const ModelLayout& layout) {
  std::string text;
  for (const auto& [name, degree] : {std::pair("pp", layout.pp), {"tp", layout.tp}, {"cp", layout.cp}})
    if (degree > 1) text += fmt::format("{} {}, ", name, degree);
  if (layout.pp > 1) text += schedule_text(layout) + ", ";
  text += fmt::format("{} x {}, ", layout.micro_batches, counted(layout.samples, "sample"));
  if (layout.recompute != Recompute::None) text += "recompute " + recompute_text(layout) + ", ";
  return text + layout.strategy;
}

std::string layouts_report(const LayoutAdvice& advice, const LayoutSearch& search, const Screen& screen) {
  const auto rows = shown(advice);
  std::string text = wrapped(
      fmt::format(
          "{} on {}: {} workers, {} samples of {} tokens an iteration\n{} possible: {} simulated, the fastest {} of "
          "them below{}{}.\n",
          search.model.name, advice.ranking.front().outcome.scenario.cluster.name, search.workers, search.global_batch,
          search.tokens, advice.possible == 1 ? "One layout is" : fmt::format("{} layouts are", advice.possible),
          advice.ranking.size() == 1 ? "1 was" : fmt::format("{} were", advice.ranking.size()), rows.size(),
          advice.too_slow > 0
              ? fmt::format("; {} cannot win, since their computation alone takes longer", advice.too_slow)
              : "",
          advice.left_over > 0 ? fmt::format("; {} were not tried (a larger --budget tries more)", advice.left_over)
                               : ""),
      screen.width, 2);
  for (const std::string& one : advice.skipped) text += wrapped(fmt::format("Skipped: {}.\n", one), screen.width, 2);
  text += "\n" + layouts_table(advice, search.rule, screen);
  std::string notes =
      "in parts of the iteration: ranks waiting for each other (bubble) and for slow workers (slow), and exposed "
      "gradients, sends between ranks "
      "and collectives inside layers; batch: micro-batches x samples\n";
  if (advice.tied > 1) notes += ties_note(search.rule.tie);
  if (std::any_of(rows.begin(), rows.end(),
                  [&](const LayoutTrial& one) { return fits(one) && !leaves_room(one, search.rule); }))
    notes += headroom_note(search.rule);
  if (std::any_of(rows.begin(), rows.end(), [](const LayoutTrial& one) { return !fits(one); })) notes += unfit_note;
  notes += uneven_note(rows) + short_sums_note(advice.ranking.front().outcome.scenario);
  text += wrapped(notes, screen.width, 2) + wrapped(verdict_text(advice, search.rule.tie), screen.width);
  std::vector<std::string> shown;
  for (const LayoutTrial& one : advice.ranking) {
    if (one.settings.empty() || std::find(shown.begin(), shown.end(), one.framework) != shown.end() || !fits(one))
      continue;
    shown.push_back(one.framework);
    text += wrapped(fmt::format("\n{}, {}:\n  {}\n", one.framework,
                                format_duration(one.outcome.result.metrics.iteration_s), one.settings),
                    screen.width, 4);
  }
  const LayoutTrial& best = advice.ranking.front();
  text += "\nTo repeat the first row:\n" + command_text(
                                               [&] {
                                                 std::vector<std::string> words{"estimate"};
                                                 words.insert(words.end(), best.estimate.begin(), best.estimate.end());
                                                 return words;
                                               }(),
                                               screen);
  text += command_text(
      [&] {
        std::vector<std::string> words{"run"};
        words.insert(words.end(), best.run.begin(), best.run.end());
        return words;
      }(),
      screen);
  return text + wrapped(caveat(best.outcome.scenario.profile), screen.width, 2);
}

JsonValue layouts_json(const LayoutAdvice& advice, const WinningRule& rule) {
  auto rows = JsonValue::array();
  for (const LayoutTrial& one : advice.ranking) {
    Row row = row_of(one.outcome);
    row.push_back({"micro_batch", one.layout.samples});
    row.push_back({"recompute", recompute_text(one.layout)});
    row.push_back({"framework", one.framework.empty() ? Cell() : Cell(one.framework)});
    row.push_back({"settings", one.settings.empty() ? Cell() : Cell(one.settings)});
    row.push_back({"tie", rule.tie});
    rows.push_back(json_of(row));
    rows.back()["estimate"] = one.estimate;
    rows.back()["run"] = one.run;
  }
  return rows;
}

}  // namespace allreplay
