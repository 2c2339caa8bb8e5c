#include "sim/report/sweep_report.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/report/report.hpp"

namespace allreplay {

namespace {

const Cell& cell_of(const Row& row, std::string_view name) {
  return std::find_if(row.begin(), row.end(), [&](const Column& column) { return column.name == name; })->cell;
}

double number_in(const Row& row, std::string_view name) { return std::get<double>(cell_of(row, name)); }

// Those that the table shows.
Metrics metrics_of(const Row& row) {
  Metrics metrics;
  metrics.iteration_s = number_in(row, "iteration_s");
  metrics.exposed_comm_s = number_in(row, "exposed_comm_s");
  metrics.collectives = std::get<std::int64_t>(cell_of(row, "collectives"));
  metrics.speedup = number_in(row, "speedup");
  metrics.efficiency = number_in(row, "efficiency");
  if (const auto* bound = std::get_if<double>(&cell_of(row, "lower_bound_s"))) metrics.lower_bound_s = *bound;
  return metrics;
}

}  // namespace

SweepTable::Word SweepTable::word(const std::string& text) {
  const auto [place, fresh] = known_.emplace(text, static_cast<Word>(words_.size()));
  if (fresh) words_.push_back(&place->first);
  return place->second;
}

void SweepTable::add(std::size_t place, const Row& row) {
  Line line;
  for (std::size_t i = 0; i < names; ++i) {
    const std::string text = plain_text(cell_of(row, named_by[i]));
    line.identity[i] = word(text.empty() ? "none" : text);
  }
  line.note = word(caveat(*words_[line.identity[0]], plain_text(cell_of(row, "origin"))));
  line.memory_bytes = number_in(row, "memory_bytes");
  const NamedValues& options = std::get<NamedValues>(cell_of(row, "options"));
  for (const auto& option : options) line.options.push_back(word(allreplay::options_text({option})));
  line.fits = fits_by(options, line.memory_bytes, {"options", "memory"});
  line.metrics = metrics_of(row);
  if (lines_.size() <= place) lines_.resize(place + 1);
  lines_[place] = std::move(line);
}

std::vector<SweepTable::Word> SweepTable::options_of_all() const {
  std::vector<Word> common = lines_.size() > 1 ? lines_.front().options : std::vector<Word>();
  for (const Line& line : lines_)
    std::erase_if(common, [&](Word one) {
      return std::find(line.options.begin(), line.options.end(), one) == line.options.end();
    });
  return common;
}

std::string SweepTable::options_text(const Line& line, const std::vector<Word>& common) const {
  std::string text;
  for (const Word one : line.options)
    if (std::find(common.begin(), common.end(), one) == common.end()) text += (text.empty() ? "" : ", ") + *words_[one];
  return text;
}

std::string SweepTable::text(const Screen& screen) const {
  std::vector<TableColumn> columns;
  std::vector<std::size_t> varied;  // what is the same in all rows is said once
  std::string same;
  for (std::size_t i = 0; i < names; ++i) {
    const Word value = lines_.front().identity[i];
    const bool all =
        std::all_of(lines_.begin(), lines_.end(), [&](const Line& line) { return line.identity[i] == value; });
    if (all && lines_.size() > 1) {
      same += fmt::format("{}{} {}", same.empty() ? "" : ", ", named_by[i], *words_[value]);
    } else {
      varied.push_back(i);
      columns.emplace_back(std::string(named_by[i]));
    }
  }
  std::set<std::array<Word, names>> identities;
  for (const Line& line : lines_) identities.insert(line.identity);
  const bool alike = identities.size() < lines_.size();
  const std::size_t keys = columns.size();
  for (const TableColumn& column :
       {TableColumn("iteration"), exposed_column, TableColumn(collectives_column), TableColumn("speed-up"),
        TableColumn(efficiency_column), TableColumn("above bound")})
    columns.push_back(column);
  const bool limited =
      std::any_of(lines_.begin(), lines_.end(), [](const Line& line) { return line.fits.has_value(); });
  if (limited) columns.emplace_back("memory");
  if (alike) columns.emplace_back("options");
  Table table(columns, keys);
  const std::vector<Word> common = options_of_all();
  if (alike)
    for (const Word one : common) same += fmt::format("{}{}", same.empty() ? "" : ", ", *words_[one]);
  std::string notes;
  if (!std::all_of(lines_.begin(), lines_.end(), [](const Line& line) { return line.fits.value_or(true); }))
    notes = "! does not fit into the memory of a worker\n";
  for (const Line& line : lines_) {
    const Metrics& m = line.metrics;
    std::vector<TableCell> row;
    row.reserve(columns.size());
    for (const std::size_t one : varied) row.emplace_back(*words_[line.identity[one]]);
    row.insert(row.end(), {cell::seconds(m.iteration_s), exposed_cell(m), cell::count(m.collectives),
                           cell::number(m.speedup, 2), cell::percent(m.efficiency), above_bound_cell(m)});
    if (limited) {
      const TableCell memory = cell::bytes(line.memory_bytes);
      row.push_back(line.fits.value_or(true) ? memory : memory.marked("!"));
    }
    if (alike) row.emplace_back(options_text(line, common));
    table.add(std::move(row));
    if (notes.find(*words_[line.note]) == std::string::npos) notes += *words_[line.note];
  }
  return (same.empty() ? "" : wrapped(same, screen.width, 2) + "\n\n") + table.text(screen) +
         wrapped(notes, screen.width, 2);
}

}  // namespace allreplay
