#include "sim/output/report/sweep_result.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/base/core/units.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/inputs/cluster/describe.hpp"
#include "sim/output/report/scenario_labels.hpp"
#include "sim/plans/schedule/offer.hpp"
#include "sim/studies/experiment/over_seeds.hpp"

namespace allreplay {

namespace {

// Reads typed rows from a table.
class Reader {
 public:
  explicit Reader(const ResultTable& table) : table_(table) {
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (!places_.emplace(table.columns[i], i).second)
        throw InputError({table.file, "line 1"}, fmt::format("has two columns '{}'", table.columns[i]),
                         "one of each name");
    for (const Column& column : columns())
      if (!column.has(Column::later) && !column.has(Column::may_be_empty) && !has(column.key))
        throw InputError({table.file, "line 1"}, fmt::format("has no column '{}'", column.key),
                         "a CSV of `allreplay sweep --out FILE.csv`");
  }

  ResultRow read(const ResultLine& line) const {
    for (const Column& column : columns())
      if (column.is_number() && has(column.key)) number(line, column.key);
    ResultRow row;
    row.profile = text(line, "profile");
    row.cluster = text(line, "cluster");
    row.routing = text(line, "routing");
    row.network = named_with_routing(row.cluster, row.routing);
    row.strategy = text(line, "strategy");
    row.collective = text(line, "collective");
    row.fidelity = text(line, "fidelity");
    row.origin = text(line, "origin");
    row.codec = text(line, "codec");
    row.options = options(line);
    row.workers = parse_integer(text(line, "workers"), 1, most_workers, table_.place_of(line, "workers"));
    row.iteration_s = *number(line, "iteration_s");
    if (row.iteration_s <= 0)
      throw InputError(table_.place_of(line, "iteration_s"), "is " + text(line, "iteration_s"), "a time above 0");
    row.collectives = std::llround(std::min(*number(line, "collectives"), 1e18));
    row.efficiency = *number(line, "efficiency");
    row.samples_per_s = number(line, "samples_per_s");
    row.lower_bound_s = number(line, "lower_bound_s");
    row.batches = batches(line, row);
    row.memory_bytes = number(line, "memory_bytes").value_or(0);
    return row;
  }

 private:
  bool has(std::string_view column) const { return places_.contains(std::string(column)); }

  // Returns a cell; "" if an older version wrote no such column.
  std::string text(const ResultLine& line, std::string_view column) const {
    const auto known = places_.find(std::string(column));
    return known == places_.end() ? "" : std::string(line.cells[known->second]);
  }

  std::optional<double> number(const ResultLine& line, std::string_view column) const {
    const std::string field = text(line, column);
    if (field.empty() && (!has(column) || column_of(column).has(Column::may_be_empty))) return std::nullopt;
    const double value = parse_number(field, table_.place_of(line, std::string(column)));
    if (std::abs(value) > most_drawn)
      throw InputError(table_.place_of(line, std::string(column)), "is " + field, "a number that can be drawn");
    return value;
  }

  // Returns the micro-batches of all replicas. Without the columns `dp` and `micro_batches`, each worker is a replica.
  double batches(const ResultLine& line, const ResultRow& row) const {
    if (const auto replicas = number(line, "dp"), each = number(line, "micro_batches"); replicas && each)
      return std::max(1.0, *replicas * *each);
    const double each = parse_number(micro_batches_text(row.options), table_.place_of(line, "options"));
    return static_cast<double>(row.workers) * std::max(1.0, each);
  }

  NamedValues options(const ResultLine& line) const {
    NamedValues values = named_values(text(line, "options"));
    for (const auto& [name, value] : values)
      if (value.empty())
        throw InputError(table_.place_of(line, "options"), fmt::format("'{}' has no value", name),
                         "key=value;key=value");
    return values;
  }

  const ResultTable& table_;
  std::map<std::string, std::size_t> places_;
};

bool shards_by_option(const ResultRow& row) {
  return std::any_of(row.options.begin(), row.options.end(),
                     [](const auto& option) { return option.first == "zero" && option.second != "0"; });
}

// Rows do not contain the size of elements: sizes that a strategy counts in elements assume four bytes each.
Contender contender_of(const ResultRow& row, const WinningRule& rule) {
  Profile profile;
  profile.tensors.push_back({"", 1, 4, 0});
  const bool planned = std::ranges::any_of(row.options, [](const auto& option) { return option.first == "plan"; });
  const Strategy* strategy = planned ? nullptr : row_named(strategies(), row.strategy);
  return {.fits = row.fits,
          .iteration_s = row.seconds_of_equal_work(),
          .runs_now = row.strategy == rule.runs_now,
          .offered = strategy ? offered(*strategy, shards_by_option(row)) : Offered::AsPlan,
          .changed = (strategy ? options_changed(*strategy, row.options, profile) : row.options.size()) +
                     (row.codec.empty() ? 0 : 1),
          .stage = strategy ? strategy->sharded.stage : 0,
          .collectives = row.collectives,
          .memory_bytes = row.memory_bytes,
          .free = row.free_memory(),
          .doubted_s = row.doubted_s ? std::optional(*row.doubted_s / row.batches) : std::nullopt};
}

Race race_of(const SweepResult& result, const Rows& rows) {
  std::vector<Contender> contenders;
  for (const std::size_t row : rows) contenders.push_back(contender_of(result.rows[row], result.rule));
  const Ranking ranking = rank(contenders, result.rule);
  Race race{.rows = {}, .tied = ranking.tied};
  race.per_sample = std::any_of(rows.begin(), rows.end(), [&](std::size_t row) {
    return result.rows[row].batches != result.rows[rows[0]].batches;
  });
  for (const std::size_t place : ranking.order)
    if (contenders[place].fits) race.rows.push_back(rows[place]);
  return race;
}

// True if the row may not fit on fewer workers: memory is limited, and the strategy shards. Otherwise a worker's memory
// does not depend on their number.
bool needs_others(const ResultRow& row) {
  const Strategy* strategy = row_named(strategies(), row.strategy);
  return row.is_limited() && (!strategy || strategy->shards() || shards_by_option(row));
}

// Sets the group's reference from the winner of the largest size at which any row fits.
void find_reference(SweepResult& result, ResultGroup& group) {
  double efficiency = 1;
  for (auto race = group.by_workers.rbegin(); race != group.by_workers.rend(); ++race) {
    if (race->second.rows.empty()) continue;
    const ResultRow& fastest = result.rows[race->second.rows.front()];
    if (!needs_others(fastest)) break;
    group.reference_workers = fastest.workers;
    efficiency = fastest.efficiency;
    for (const std::size_t index : group.rows) {
      const ResultRow& row = result.rows[index];
      if (!row.fits || row.series != fastest.series || row.workers >= group.reference_workers) continue;
      group.reference_workers = row.workers;
      efficiency = row.efficiency;
    }
    break;
  }
  for (const std::size_t index : group.rows)
    result.rows[index].relative_efficiency = result.rows[index].efficiency / efficiency;
}

// "wfbp", or "wfbp + topk" with a codec.
std::string head_of(const ResultRow& row) {
  return row.codec.empty() ? row.strategy : row.strategy + " + " + row.codec;
}

bool has_codecs(const SweepResult& result) {
  return std::any_of(result.rows.begin(), result.rows.end(), [](const ResultRow& row) { return !row.codec.empty(); });
}

// True if the column is not of this version's sweeps, and so may tell rows apart.
bool is_unknown(const std::string& key) {
  const Column* known = find_column(key);
  return !known || (!known->get && !known->has(Column::of_cluster) && !is_added_to_rows(key));
}

// Returns what may distinguish the row within its group: options, columns of a later version, and the collective if
// any row has a codec.
NamedValues distinctions_of(const SweepResult& result, std::size_t index, bool coded) {
  const ResultRow& row = result.rows[index];
  NamedValues all = row.options;
  for (std::size_t i = 0; i < result.columns.size(); ++i)
    if (is_unknown(result.columns[i])) all.emplace_back(result.columns[i], row.cells[i]);
  if (coded) all.emplace_back("collective", row.collective);
  return all;
}

// Names rows by strategy and codec, and by the distinctions in which rows of the same name differ.
void name_series(SweepResult& result, const ResultGroup& group, bool coded) {
  std::map<std::string, std::size_t> rows;                                   // with this head
  std::map<std::pair<std::string, std::string>, std::set<std::string>> all;  // head and distinction: its values
  std::map<std::pair<std::string, std::string>, std::size_t>
      given;  // head and distinction: the number of rows that have it
  for (const std::size_t index : group.rows) {
    const std::string head = head_of(result.rows[index]);
    ++rows[head];
    for (const auto& [name, value] : distinctions_of(result, index, coded)) {
      all[{head, name}].insert(value);
      ++given[{head, name}];
    }
  }
  for (const std::size_t index : group.rows) {
    ResultRow& row = result.rows[index];
    const std::string head = head_of(row);
    std::string differing;
    for (const auto& [name, value] : distinctions_of(result, index, coded))
      if (all[{head, name}].size() > 1 || given[{head, name}] < rows[head])
        differing += fmt::format("{}{}={}", differing.empty() ? "" : ", ", name, value);
    row.series = differing.empty() ? head : fmt::format("{} ({})", head, differing);
  }
}

void group_rows(SweepResult& result) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> known;
  const bool coded = has_codecs(result);
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    ResultRow& row = result.rows[i];
    const auto [place, fresh] =
        known.emplace(std::tuple(row.profile, row.network, coded ? std::string() : row.collective, row.fidelity),
                      result.groups.size());
    if (fresh) result.groups.emplace_back();
    ResultGroup& group = result.groups[place->second];
    group.rows.push_back(i);
    group.by_workers[row.workers].rows.push_back(i);
  }
  for (ResultGroup& group : result.groups) {
    name_series(result, group, coded);
    for (auto& [workers, race] : group.by_workers) race = race_of(result, race.rows);
    find_reference(result, group);
  }
}

}  // namespace

std::optional<double> ResultRow::free_memory() const {
  for (const auto& [name, value] : options)
    if (name == "memory") return free_share(parse_size(value, {"options", "memory"}), memory_bytes);
  return std::nullopt;
}

bool ResultRow::is_limited() const {
  return std::any_of(options.begin(), options.end(), [](const auto& one) { return one.first == "memory"; });
}

namespace {

SweepResult sweep_result_of(ResultTable table, const WinningRule& rule) {
  SweepResult result{.file = table.file, .columns = table.columns, .rule = rule};
  const Reader reader(table);
  result.rows.reserve(table.rows.size());
  for (ResultLine& line : table.rows) {
    ResultRow& row = result.rows.emplace_back(reader.read(line));
    static_cast<ResultLine&>(row) = std::move(line);
  }
  group_rows(result);
  return result;
}

}  // namespace

void rank_again(const SweepResult& result, Race& race) {
  const std::int64_t nodes = race.nodes;
  race = race_of(result, race.rows);
  race.nodes = nodes;
}

std::vector<RelativeEfficiency> relative_efficiencies(const ResultTable& table) {
  std::vector<RelativeEfficiency> all(table.rows.size());
  const auto known = columns();
  if (!std::all_of(known.begin(), known.end(),
                   [&](const Column& one) { return one.has(Column::later) || table.has(std::string(one.key)); })) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].value = table.number(table.rows[i], "efficiency");
    return all;
  }
  const SweepResult result = sweep_result_of(table, {});
  for (const ResultGroup& group : result.groups)
    for (const std::size_t row : group.rows) all[row] = {result.rows[row].relative_efficiency, group.reference_workers};
  return all;
}

SweepResult read_sweep_result(const Files& files, const std::string& file, const WinningRule& rule) {
  return sweep_result_of(read_results(files, file), rule);
}

SweepResult parse_sweep_result(const std::string& text, const std::string& file, const WinningRule& rule) {
  return sweep_result_of(parse_results(text, file), rule);
}

}  // namespace allreplay
