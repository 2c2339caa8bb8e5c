#include "sim/html/sweep_result.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "sim/cluster/cluster.hpp"
#include "sim/core/csv.hpp"
#include "sim/core/file.hpp"
#include "sim/core/named.hpp"
#include "sim/core/units.hpp"

namespace allreplay {

namespace {

class Reader {
 public:
  Reader(std::string file, const std::vector<std::string>& columns) : file_(std::move(file)), columns_(columns) {
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (!places_.emplace(columns[i], i).second)
        throw InputError({file_, "line 1"}, fmt::format("has two columns '{}'", columns[i]), "one of each name");
    for (const ColumnRow& column : allreplay::columns())
      if (!column.later && places_.count(std::string(column.name)) == 0)
        throw InputError({file_, "line 1"}, fmt::format("has no column '{}'", column.name),
                         "what `allreplay sweep --out FILE.csv` writes");
  }

  ResultRow read(const CsvRow& csv) const {
    const std::string line = fmt::format("line {}", csv.line);
    if (csv.fields.size() != columns_.size())
      throw InputError({file_, line}, fmt::format("has {} fields", csv.fields.size()),
                       fmt::format("{}, as the header", columns_.size()));
    for (const ColumnRow& column : allreplay::columns())
      if (column.kind == ColumnKind::Number && places_.count(std::string(column.name)) > 0)
        number(csv, std::string(column.name));
    ResultRow row{.line = csv.line, .cells = csv.fields};
    row.profile = text(csv, "profile");
    row.cluster = text(csv, "cluster");
    row.strategy = text(csv, "strategy");
    row.collective = text(csv, "collective");
    row.fidelity = text(csv, "fidelity");
    row.origin = text(csv, "origin");
    if (places_.count("codec") > 0) row.codec = text(csv, "codec");
    row.options = row.distinctions = options(csv);
    for (std::size_t i = 0; i < columns_.size(); ++i)  // columns of a later version
      if (!row_named(allreplay::columns(), columns_[i])) row.distinctions.emplace_back(columns_[i], csv.fields[i]);
    row.workers = parse_integer(text(csv, "workers"), 1, most_workers, {file_, line + ": workers"});
    row.iteration_s = *number(csv, "iteration_s");
    if (row.iteration_s <= 0)
      throw InputError({file_, line + ": iteration_s"}, "is " + text(csv, "iteration_s"), "a time above 0");
    row.speedup = *number(csv, "speedup");
    row.efficiency = *number(csv, "efficiency");
    row.lower_bound_s = number(csv, "lower_bound_s");
    if (places_.count("memory_bytes") > 0)
      row.fits = fits_by(row.options, *number(csv, "memory_bytes"), {file_, line + ": options: memory"}).value_or(true);
    return row;
  }

 private:
  const std::string& text(const CsvRow& csv, const std::string& name) const { return csv.fields[places_.at(name)]; }

  std::optional<double> number(const CsvRow& csv, const std::string& name) const {
    const std::string& field = text(csv, name);
    if (field.empty() && row_named(allreplay::columns(), name)->may_be_empty) return std::nullopt;
    return parse_number(field, {file_, fmt::format("line {}: {}", csv.line, name)});
  }

  NamedValues options(const CsvRow& csv) const {
    NamedValues values = named_values(text(csv, "options"));
    for (const auto& [name, value] : values)
      if (value.empty())
        throw InputError({file_, fmt::format("line {}: options", csv.line)}, fmt::format("'{}' has no value", name),
                         "key=value;key=value");
    return values;
  }

  std::string file_;
  const std::vector<std::string>& columns_;
  std::map<std::string, std::size_t> places_;
};

// "wfbp", or "wfbp + topk" with a codec.
std::string head_of(const ResultRow& row) {
  return row.codec.empty() ? row.strategy : row.strategy + " + " + row.codec;
}

// A strategy that stands in a group several times is named with what differs.
void name_series(SweepResult& result, const ResultGroup& group) {
  std::map<std::string, std::size_t> rows;                                   // with this head
  std::map<std::pair<std::string, std::string>, std::set<std::string>> all;  // head and distinction: its values
  std::map<std::pair<std::string, std::string>, std::size_t> given;          // likewise: how many rows have it
  for (const std::size_t index : group.rows) {
    const std::string head = head_of(result.rows[index]);
    ++rows[head];
    for (const auto& [name, value] : result.rows[index].distinctions) {
      all[{head, name}].insert(value);
      ++given[{head, name}];
    }
  }
  for (const std::size_t index : group.rows) {
    ResultRow& row = result.rows[index];
    const std::string head = head_of(row);
    std::string differing;
    for (const auto& [name, value] : row.distinctions)
      if (all[{head, name}].size() > 1 || given[{head, name}] < rows[head])
        differing += fmt::format("{}{}={}", differing.empty() ? "" : ", ", name, value);
    row.series = differing.empty() ? head : fmt::format("{} ({})", head, differing);
  }
}

void group_rows(SweepResult& result) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> known;
  const bool coded =
      std::any_of(result.rows.begin(), result.rows.end(), [](const ResultRow& row) { return !row.codec.empty(); });
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    ResultRow& row = result.rows[i];
    if (coded) row.distinctions.emplace_back("collective", row.collective);
    const auto [place, fresh] =
        known.emplace(std::tuple(row.profile, row.cluster, coded ? std::string() : row.collective, row.fidelity),
                      result.groups.size());
    if (fresh) result.groups.emplace_back();
    ResultGroup& group = result.groups[place->second];
    group.rows.push_back(i);
    Rows& competing = group.by_workers[row.workers];
    if (row.fits) competing.push_back(i);
  }
  for (ResultGroup& group : result.groups) {
    name_series(result, group);
    for (auto& [workers, rows] : group.by_workers)
      std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
        return result.rows[a].iteration_s < result.rows[b].iteration_s;
      });
  }
}

}  // namespace

bool is_number_column(const std::string& name) {
  const ColumnRow* column = row_named(columns(), name);
  return column && column->kind == ColumnKind::Number;
}

SweepResult read_sweep_result(const Files& files, const std::string& file) {
  constexpr std::uint64_t most = std::uint64_t{512} << 20;  // as a sweep writes and resumes
  return parse_sweep_result(files.read(file, most), file);
}

SweepResult parse_sweep_result(const std::string& text, const std::string& file) {
  const std::vector<CsvRow> csv = parse_csv(text, file);
  if (csv.empty()) throw InputError({file, ""}, "is empty", "the CSV of a sweep: a header and rows");
  SweepResult result{.file = file, .columns = csv.front().fields};
  const Reader reader(file, result.columns);
  for (std::size_t i = 1; i < csv.size(); ++i) result.rows.push_back(reader.read(csv[i]));
  if (result.rows.empty()) throw InputError({file, ""}, "has a header, and no rows", "at least one row");
  group_rows(result);
  return result;
}

}  // namespace allreplay
