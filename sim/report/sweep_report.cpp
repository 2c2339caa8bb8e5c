#include "sim/report/sweep_report.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/text.hpp"
#include "sim/report/findings.hpp"
#include "sim/report/report.hpp"
#include "sim/report/result_rows.hpp"
#include "sim/report/scenario_labels.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

namespace {

Names names_of(const ResultRow& row) {
  const std::string names[] = {row.profile,
                               row.network,
                               std::to_string(row.workers),
                               row.collective,
                               row.fidelity,
                               row.codec.empty() ? "none" : row.codec,
                               layout_text(row.options),
                               micro_batches_text(row.options),
                               row.strategy};
  Names named;
  for (std::size_t i = 0; i < std::size(named_by); ++i) named.emplace_back(named_by[i], names[i]);
  return named;
}

std::vector<ResultNumbers> numbers_of(const SweepResult& result) {
  std::vector<ResultNumbers> rows;
  for (const ResultRow& row : result.rows)
    rows.push_back({.metrics = row.metrics,
                    .speed = row.speed,
                    .relative_efficiency = row.relative_efficiency,
                    .memory_bytes = row.memory_bytes,
                    .fits = row.fits,
                    .bubble_s = {},
                    .roomy = leaves_room(row.free_memory(), result.rule)});
  for (const ResultGroup& group : result.groups)
    for (const auto& [workers, race] : group.by_workers)
      for (std::size_t i = 0; i < race.tied && race.rows.size() > 1; ++i)
        (i == 0 ? rows[race.rows[i]].wins : rows[race.rows[i]].ties) = true;
  return rows;
}

// What every row has; where there is one, nothing.
NamedValues options_of_all(const SweepResult& result) {
  NamedValues common = result.rows.size() > 1 ? result.rows.front().options : NamedValues();
  for (const ResultRow& row : result.rows)
    std::erase_if(common, [&](const auto& one) {
      return std::find(row.options.begin(), row.options.end(), one) == row.options.end();
    });
  return common;
}

NamedValues without(NamedValues options, const NamedValues& common) {
  std::erase_if(options, [&](const auto& one) { return std::find(common.begin(), common.end(), one) != common.end(); });
  return options;
}

// The references of all groups, where they have one; else none is named.
std::int64_t reference_of(const SweepResult& result) {
  const std::int64_t workers = result.groups.front().reference_workers;
  const auto other = [&](const ResultGroup& group) { return group.reference_workers != workers; };
  return std::any_of(result.groups.begin(), result.groups.end(), other) ? 1 : workers;
}

}  // namespace

SweepTable sweep_rows(const SweepResult& result) {
  std::vector<Names> names;
  for (const ResultRow& row : result.rows) names.push_back(names_of(row));
  const ScenarioLabels labels(names);
  std::vector<TableColumn> columns;
  std::vector<std::string> keys, same;
  for (const std::string_view name : named_by)
    if (const std::string_view alone = name == "layout" ? "" : "1";
        (name == "layout" || name == "micro-batches") && !labels.differ_in(name) && labels.name(0, name) == alone)
      continue;  // data parallelism alone
    else if (result.rows.size() == 1 || labels.differ_in(name))
      keys.emplace_back(name);
    else
      same.push_back(fmt::format("{} {}", name, labels.name(0, name)));
  columns.insert(columns.end(), keys.begin(), keys.end());
  const bool alike = std::set<Names>(names.begin(), names.end()).size() < names.size();
  const NamedValues common = options_of_all(result);
  if (alike && !common.empty()) same.push_back(options_text(common));
  const std::vector<ResultNumbers> numbers = numbers_of(result);
  const NumberColumns shown{
      .reference_workers = reference_of(result),
      .memory = std::any_of(result.rows.begin(), result.rows.end(), [](const auto& row) { return row.is_limited(); }),
      .stragglers = have_stragglers(numbers)};
  for (TableColumn& column : number_columns(numbers, shown)) columns.push_back(std::move(column));
  if (alike) columns.emplace_back("options");
  Table table(columns, keys.size());
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    std::vector<TableCell> row;
    for (const std::string& key : keys) row.emplace_back(labels.name(i, key));
    for (TableCell& cell : number_cells(numbers[i], shown)) row.push_back(std::move(cell));
    if (alike) row.emplace_back(options_text(without(result.rows[i].options, common)));
    table.add(std::move(row));
  }
  return {std::move(same), std::move(table), marks_note(numbers, result.rule)};
}

std::string sweep_table(const SweepResult& result, const Screen& screen) {
  const auto [common, table, marks] = sweep_rows(result);
  return (common.empty() ? "" : wrapped(fmt::format("{}", fmt::join(common, ", ")), screen.width, 2) + "\n\n") +
         table.text(screen) + wrapped(marks, screen.width, 2);
}

std::string sweep_verdict(const SweepResult& result, const Screen& screen) {
  constexpr std::size_t most_cases = 6;  // told one by one
  const Summary summary = summarize(result);
  std::string text;
  for (const std::string& sentence : summary.verdict) text += sentence + "\n";
  for (const Summary::Case& one : summary.cases)
    if (summary.cases.size() <= most_cases) text += fmt::format("{}: {}\n", one.about, fmt::join(one.sentences, " "));
  std::set<std::string> notes;
  std::string noted;
  for (const ResultRow& row : result.rows)
    if (const std::string note = caveat(row.profile, row.origin); notes.insert(note).second) noted += note;
  return wrapped(noted + text, screen.width, 2);
}

}  // namespace allreplay
