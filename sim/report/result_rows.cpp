#include "sim/report/result_rows.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/report/phrases.hpp"

namespace allreplay {

TableCell exposed_cell(const Metrics& metrics) {
  constexpr double hardly = 0.0005;  // of an iteration: 0.0 %
  const TableCell cell = cell::seconds(metrics.exposed_comm_s);
  return metrics.exposed_comm_s > hardly * metrics.iteration_s ? cell.with(Tone::Exposed) : cell;
}

bool have_stragglers(const std::vector<ResultNumbers>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.metrics.straggler_s != 0; });
}

TableCell above_bound_cell(const Metrics& metrics) {
  return metrics.lower_bound_s ? cell::percent(metrics.iteration_s / *metrics.lower_bound_s - 1) : TableCell("-");
}

TableCell memory_cell(double bytes, bool fits, bool roomy) {
  return fits && roomy ? cell::bytes(bytes) : cell::bytes(bytes).marked(fits ? "*" : "!");
}

std::string efficiency_column(std::int64_t reference_workers) {
  return reference_workers == 1 ? "eff." : fmt::format("eff. from {}", reference_workers);
}

namespace {

// Tokens where the profile says how many a sample has.
std::optional<double> rate_of(const ResultNumbers& row) {
  return row.speed.tokens_per_s ? row.speed.tokens_per_s : row.speed.samples_per_s;
}

TableCell optional_cell(const std::optional<double>& value, const auto& cell) {
  return value ? cell(*value) : TableCell("-");
}

}  // namespace

std::vector<TableColumn> number_columns(const std::vector<ResultNumbers>& rows, const NumberColumns& how) {
  std::vector<TableColumn> columns{"iteration", exposed_column};
  if (how.stragglers) columns.push_back(straggler_column);
  if (how.bubble) columns.push_back(TableColumn("bubble").like("iteration"));
  if (how.all) columns.emplace_back(collectives_column);
  if (how.speed) {
    const bool tokens = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.speed.tokens_per_s; });
    columns.insert(columns.end(), {tokens ? "tokens/s per GPU" : "samples/s per GPU", "MFU"});
  }
  if (how.samples) columns.emplace_back("samples/s");
  columns.emplace_back(efficiency_column(how.reference_workers));
  columns.emplace_back("above bound");
  if (how.memory) columns.emplace_back("memory");
  return columns;
}

std::vector<TableCell> number_cells(const ResultNumbers& row, const NumberColumns& how) {
  const TableCell time = cell::seconds(row.metrics.iteration_s).with(row.wins ? Tone::Best : Tone::Plain);
  std::vector<TableCell> cells{row.ties ? time.marked("~") : time, exposed_cell(row.metrics)};
  if (how.stragglers) cells.push_back(cell::seconds(row.metrics.straggler_s));
  if (how.bubble) cells.push_back(optional_cell(row.bubble_s, [](double seconds) { return cell::seconds(seconds); }));
  if (how.all) cells.push_back(cell::count(row.metrics.collectives));
  if (how.speed) {
    cells.push_back(optional_cell(
        rate_of(row), [](double rate) { return cell::number(rate, rate < 1000 ? rate_decimals(rate) : 0); }));
    cells.push_back(optional_cell(row.speed.mfu, [](double share) { return cell::percent(share); }));
  }
  if (how.samples)
    cells.push_back(
        optional_cell(row.metrics.samples_per_s, [](double rate) { return cell::number(rate, rate_decimals(rate)); }));
  cells.push_back(cell::percent(row.relative_efficiency));
  cells.push_back(above_bound_cell(row.metrics));
  if (how.memory) cells.push_back(memory_cell(row.memory_bytes, row.fits, row.roomy));
  return cells;
}

std::string ties_note(double tie) {
  return fmt::format("~: within {} of the fastest, a tie, which the simplest to run wins\n", tie_text(tie));
}

std::string headroom_note(const WinningRule& rule) {
  return fmt::format(
      "*: leaves less than {:g} % of the memory free for what is not simulated (--headroom): it wins only if all do\n",
      100 * rule.headroom);
}

std::string marks_note(const std::vector<ResultNumbers>& rows, const WinningRule& rule) {
  std::string text;
  if (std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.ties; })) text += ties_note(rule.tie);
  if (std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.fits && !row.roomy; }))
    text += headroom_note(rule);
  if (!std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.fits; })) text += unfit_note;
  return text;
}

}  // namespace allreplay
