#include "sim/report/layouts_report.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "sim/core/json_value.hpp"
#include "sim/core/text.hpp"
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
bool is_tight(const LayoutTrial& trial) {
  return fits_tightly(trial.outcome.scenario, trial.outcome.result.memory.peak);
}

std::string schedule_text(const ModelLayout& layout) {
  if (layout.pp == 1) return "-";
  return layout.chunks > 1 ? fmt::format("{} x{}", layout.schedule, layout.chunks) : layout.schedule;
}

std::span<const LayoutTrial> shown(const LayoutAdvice& advice) {
  return std::span(advice.ranking).first(std::min(layouts_shown, advice.ranking.size()));
}

std::string layouts_table(const LayoutAdvice& advice, const Screen& screen) {
  Table table({"", "pp", "tp", "cp", "schedule", "batch", "recompute", "strategy", "iteration", "MFU", "bubble",
               "grads", "sends", "in layers", "memory"});
  for (std::size_t i = 0; i < shown(advice).size(); ++i) {
    const auto& [layout, outcome, estimate, run, framework, settings] = advice.ranking[i];
    const Metrics& metrics = outcome.result.metrics;
    const auto& parallel = outcome.result.parallel;
    const auto share = [&](double seconds) { return cell::percent(seconds / metrics.iteration_s); };
    const TableCell time = cell::seconds(metrics.iteration_s).with(i == 0 ? Tone::Best : Tone::Plain);
    const auto mfu = speed_per_gpu(outcome.scenario, metrics).mfu;
    table.add({cell::count(static_cast<std::int64_t>(i) + 1), cell::count(layout.pp), cell::count(layout.tp),
               cell::count(layout.cp), schedule_text(layout),
               fmt::format("{} x {}", layout.micro_batches, layout.samples), recompute_text(layout), layout.strategy,
               i > 0 && i < advice.tied ? time.marked("~") : time, mfu ? cell::percent(*mfu) : TableCell("-"),
               share(parallel ? parallel->bubble_s : 0),
               share(parallel ? parallel->exposed_dp_s : metrics.exposed_comm_s),
               share(parallel ? parallel->exposed_p2p_s : 0), share(parallel ? parallel->layer_comm_s : 0),
               memory_cell(outcome.result.memory.peak, fits(advice.ranking[i]), is_tight(advice.ranking[i]))});
  }
  return table.text(screen);
}

std::string verdict_text(const LayoutAdvice& advice, double tie) {
  if (advice.tied == 0) return "";  // nothing fits
  std::vector<Racer> tied;
  for (std::size_t i = 0; i < advice.tied; ++i) {
    const auto& [layout, outcome, estimate, run, framework, settings] = advice.ranking[i];
    const double seconds = outcome.result.metrics.iteration_s;
    tied.push_back({fmt::format("layout {}", i + 1), format_duration(seconds), seconds});
  }
  return "\n" + winner_text(std::move(tied), {}, tie) + "\n";
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
  text += "\n" + layouts_table(advice, screen);
  std::string notes =
      "in parts of the iteration: ranks waiting for each other (bubble), and exposed gradients, sends between ranks "
      "and collectives inside layers; batch: micro-batches x samples\n";
  if (advice.tied > 1) notes += ties_note(search.rule.tie);
  if (std::any_of(rows.begin(), rows.end(), [](const LayoutTrial& one) { return !fits(one); })) notes += unfit_note;
  if (std::any_of(rows.begin(), rows.end(), is_tight)) notes += tight_note;
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
