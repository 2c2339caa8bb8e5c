#include "sim/report/what_if_report.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/json_value.hpp"
#include "sim/core/text.hpp"
#include "sim/experiment/ranking.hpp"
#include "sim/report/phrases.hpp"
#include "sim/report/report.hpp"
#include "sim/report/result_rows.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

namespace {

constexpr double little = 0.02;     // what no schedule and no network is worth the trouble for
constexpr double no_gain = 0.0005;  // 0.0 %

// A flag with its value.
using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs_of(const std::vector<std::string>& flags) {
  Pairs pairs;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const bool alone = i + 1 == flags.size() || flags[i + 1].starts_with("--");
    pairs.emplace_back(flags[i], alone ? "" : flags[i + 1]);
    if (!alone) ++i;
  }
  return pairs;
}

std::vector<const WhatIfRow*> all_rows(const WhatIf& answer) {
  std::vector<const WhatIfRow*> all{&answer.base};
  for (const auto* some : {&answer.rows, &answer.together})
    for (const WhatIfRow& row : *some) all.push_back(&row);
  return all;
}

// Those that every row has; the others stand beside their rows.
Pairs common_flags(const WhatIf& answer) {
  Pairs common = pairs_of(answer.base.flags);
  for (const WhatIfRow* row : all_rows(answer)) {
    const Pairs own = pairs_of(row->flags);
    std::erase_if(common, [&](const auto& one) { return std::find(own.begin(), own.end(), one) == own.end(); });
  }
  return common;
}

std::string text_of(const Pairs& pairs) {
  std::vector<std::string> words;
  for (const auto& [flag, value] : pairs) {
    words.push_back(flag);
    if (!value.empty()) words.push_back(value);
  }
  return shell_words(words);
}

std::string own_flags(const WhatIfRow& row, Pairs common) {
  Pairs own;
  for (const auto& one : pairs_of(row.flags)) {
    const auto shared = std::find(common.begin(), common.end(), one);
    if (shared == common.end())
      own.push_back(one);
    else
      common.erase(shared);
  }
  return text_of(own);
}

// True if the row would say 0.0 %, and changes nothing else that counts.
bool changes_nothing(const WhatIfRow& row) { return row.fits && std::abs(row.gain) < no_gain; }

JsonValue json_of(const WhatIfRow& row) {
  JsonValue object{{"change", row.change}, {"gain", row.gain}, {"fits", row.fits}, {"flags", row.flags}};
  object.update(json_of(row_of(row.outcome)));
  object["fits"] = row.fits;  // whether there is a limit or not
  return object;
}

JsonValue json_of(const std::vector<WhatIfRow>& rows) {
  auto array = JsonValue::array();
  for (const WhatIfRow& row : rows) array.push_back(json_of(row));
  return array;
}

}  // namespace

std::string what_if_report(const WhatIf& answer, const Screen& screen) {
  const Pairs common = common_flags(answer);
  const std::int64_t reference = answer.reference.workers;
  // The flags stand in their rows: a narrow screen has no room for the rates next to them.
  constexpr std::size_t room_for_rates = 110;
  const bool rates = screen.width >= room_for_rates;
  std::vector<TableColumn> columns{"change", "gain"};
  if (rates) columns.insert(columns.end(), {"iteration", "samples/s", efficiency_column(reference)});
  columns.emplace_back("memory");
  columns.push_back(TableColumn("flags").of_commands());
  Table table(columns);
  const WinningRule rule;
  bool all_fit = true, any_fits = false, any_tight = false;
  const auto add = [&](const WhatIfRow& row) {
    const auto& [scenario, result, wall_s] = row.outcome;
    const Metrics& m = result.metrics;
    std::vector<TableCell> cells{row.change, &row == &answer.base ? TableCell() : cell::gain(row.gain)};
    if (rates) {
      cells.push_back(cell::seconds(m.iteration_s));
      cells.push_back(m.samples_per_s ? cell::number(*m.samples_per_s, rate_decimals(*m.samples_per_s))
                                      : TableCell("-"));
      cells.push_back(row.relative_efficiency ? cell::percent(*row.relative_efficiency) : TableCell("-"));
    }
    const bool roomy = leaves_room(free_share(scenario.options.memory.limit, result.memory.peak), rule);
    cells.push_back(memory_cell(result.memory.peak, fits(scenario, result), roomy));
    any_tight = any_tight || (fits(scenario, result) && !roomy);
    cells.emplace_back(own_flags(row, common));
    table.add(std::move(cells));
    all_fit = all_fit && fits(scenario, result);
    any_fits = any_fits || fits(scenario, result);
  };
  add(answer.base);
  const auto& [scenario, result, wall_s] = answer.base.outcome;
  const auto add_bound = [&] {
    std::vector<TableCell> cells{"perfect overlap", cell::gain(answer.bound_gain)};
    if (rates)
      cells.insert(cells.end(), {cell::seconds(*answer.bound_s), "-",
                                 cell::percent(*answer.base.relative_efficiency * (1 + answer.bound_gain))});
    cells.insert(cells.end(), {"-", ""});
    table.add(std::move(cells));
  };
  bool bound_due = answer.bound_s && answer.bound_gain >= no_gain;
  std::vector<std::string> idle;
  for (const WhatIfRow& row : answer.rows) {
    if (bound_due && (!row.fits || row.gain < answer.bound_gain)) add_bound(), bound_due = false;
    if (changes_nothing(row))
      idle.push_back(row.change);
    else
      add(row);
  }
  if (bound_due) add_bound();
  for (const WhatIfRow& row : answer.together) add(row);
  std::string notes =
      (all_fit ? "" : unfit_note) + (any_tight ? headroom_note(rule) : "") + limit_note(answer.base.outcome, true);
  if (rates)
    notes += fmt::format("eff.: samples/s per GPU, relative to the first row's training on {}{}\n",
                         workers_text(reference), reference > 1 ? " of the row's network" : "");
  notes += efficiency_note({answer.base.outcome}, {answer.reference});
  for (const HeldBack& one : answer.held_back)
    notes +=
        fmt::format("{} gains nothing: {} binds ({} with {})\n", one.change, one.limit, gain_text(one.gain), one.other);
  if (!idle.empty()) notes += fmt::format("less than 0.05 % either way: {}\n", fmt::join(idle, "; "));
  for (const std::string& one : answer.left_out) notes += fmt::format("left out: {}\n", one);
  notes += caveat(scenario.profile);
  std::string text;
  for (const WhatIfRow& row : answer.together)
    text +=
        fmt::format("The best combination of {}, of as many workers{}: {} ({}).\n", row.changes == 2 ? "two" : "three",
                    row.fits ? "" : ", if memory did not count", row.change, gain_text(row.gain));
  if (answer.together.empty()) text += "No combination beats its best single change.\n";
  if (!any_fits) text += "Nothing here fits into a worker's memory.\n";
  const double exposed = result.metrics.exposed_comm_s / result.metrics.iteration_s;
  if (exposed < little)
    text += fmt::format("Communication is hidden except for {}: further gains can only come from computation.\n",
                        percent(exposed));
  else if (answer.bound_s && answer.bound_gain < little)
    text += fmt::format(
        "Another order of the same traffic gains {} at most: to gain more, send less or use a faster network.\n",
        percent(answer.bound_gain));
  if (answer.trials > 0)
    text += fmt::format(
        "A framework's best is the best of {} for each of its strategies (--budget), the simplest of those within {}; "
        "`recommend` tries more.\n",
        counted(answer.trials, "trial"), tie_text(WinningRule{}.tie));
  const std::string flags =
      fmt::format("As it is, an iteration takes {}. Each row is `allreplay run {}` and its flags.",
                  format_duration(result.metrics.iteration_s), text_of(common));
  return wrapped(title(scenario), screen.width) + "\n" + wrapped(flags, screen.width, 2) + "\n\n" + table.text(screen) +
         "\n" + wrapped(notes, screen.width, 2) + "\n" + wrapped(text, screen.width, 2);
}

JsonValue what_if_json(const WhatIf& answer) {
  JsonValue object{{"base", json_of(answer.base)},         {"rows", json_of(answer.rows)},
                   {"together", json_of(answer.together)}, {"bound", nullptr},
                   {"held_back", JsonValue::array()},      {"left_out", answer.left_out}};
  for (const HeldBack& one : answer.held_back)
    object["held_back"].push_back(
        {{"change", one.change}, {"limit", one.limit}, {"with", one.other}, {"gain", one.gain}});
  if (answer.bound_s) object["bound"] = {{"iteration_s", *answer.bound_s}, {"gain", answer.bound_gain}};
  return object;
}

}  // namespace allreplay
