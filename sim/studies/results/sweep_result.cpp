#include "sim/studies/results/sweep_result.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/base/core/units.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/inputs/cluster/describe.hpp"
#include "sim/studies/results/outcome.hpp"
#include "sim/studies/results/scenario_labels.hpp"

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

  ResultRow read(const ResultLine& line, std::set<std::string>& names) {
    line_ = &line;
    cells_ = line.cells.all();
    for (const Column& column : columns())
      if (column.is_number() && has(column.key)) number(column.key);
    ResultRow row{.line = &line};
    row.profile = text("profile");
    row.network = *names.insert(named_with_routing(std::string(text("cluster")), std::string(text("routing")))).first;
    row.strategy = text("strategy");
    row.collective = text("collective");
    row.fidelity = text("fidelity");
    row.origin = text("origin");
    row.codec = text("codec");
    row.options_text = text("options");
    const NamedValues options = options_of(row);
    row.workers = parse_integer(text("workers"), 1, most_workers, place("workers"));
    row.iteration_s = *number("iteration_s");
    if (row.iteration_s <= 0)
      throw InputError(place("iteration_s"), fmt::format("is {}", text("iteration_s")), "a time above 0");
    row.collectives = std::llround(std::min(*number("collectives"), 1e18));
    row.efficiency = *number("efficiency");
    row.samples_per_s = number("samples_per_s");
    row.lower_bound_s = number("lower_bound_s");
    row.batches = batches(row, options);
    if (const auto replicas = number("dp"); replicas && *replicas >= 1)
      row.replica_workers = std::llround(static_cast<double>(row.workers) / *replicas);
    row.memory_bytes = number("memory_bytes").value_or(0);
    if (const auto limit = memory_limit(row.options_text, {"options", "memory"}))
      row.free_memory = 1 - row.memory_bytes / *limit;
    return row;
  }

 private:
  bool has(std::string_view column) const { return places_.contains(column); }
  SourceLocation place(std::string_view column) const { return table_.place_of(*line_, std::string(column)); }

  // Returns a cell; "" if an older version wrote no such column.
  std::string_view text(std::string_view column) const {
    const auto known = places_.find(column);
    return known == places_.end() ? "" : cells_[known->second];
  }

  std::optional<double> number(std::string_view column) const {
    const std::string_view field = text(column);
    if (field.empty() && (!has(column) || column_of(column).has(Column::may_be_empty))) return std::nullopt;
    const double value = parse_number(field, place(column));
    if (std::abs(value) > most_drawn)
      throw InputError(place(column), fmt::format("is {}", field), "a number that can be drawn");
    return value;
  }

  // Returns the micro-batches of all replicas. Without the columns `dp` and `micro_batches`, each worker is a replica.
  double batches(const ResultRow& row, const NamedValues& options) const {
    if (const auto replicas = number("dp"), each = number("micro_batches"); replicas && each)
      return std::max(1.0, *replicas * *each);
    const double each = parse_number(micro_batches_text(options), place("options"));
    return static_cast<double>(row.workers) * std::max(1.0, each);
  }

  NamedValues options_of(const ResultRow& row) const {
    NamedValues values = row.options();
    for (const auto& [name, value] : values)
      if (value.empty())
        throw InputError(place("options"), fmt::format("'{}' has no value", name), "key=value;key=value");
    return values;
  }

  const ResultTable& table_;
  std::map<std::string_view, std::size_t> places_;
  const ResultLine* line_ = nullptr;
  std::vector<std::string_view> cells_;
};

bool shards(const NamedValues& options) {
  return std::any_of(options.begin(), options.end(),
                     [](const auto& option) { return option.first == "zero" && option.second != "0"; });
}

// Rows do not contain the size of elements: sizes that a strategy counts in elements assume four bytes each.
Contender contender_of(const ResultRow& row, const WinningRule& rule) {
  Profile profile;
  profile.tensors.push_back({"", 1, 4, 0});
  const NamedValues options = row.options();
  const bool planned = std::ranges::any_of(options, [](const auto& option) { return option.first == "plan"; });
  const Strategy* strategy = planned ? nullptr : row_named(strategies(), row.strategy);
  return {.fits = row.fits(),
          .iteration_s = row.seconds_of_equal_work(),
          .runs_now = row.strategy == rule.runs_now,
          .offered = strategy ? offered(*strategy, shards(options)) : Offered::AsPlan,
          .changed =
              (strategy ? options_changed(*strategy, options, profile) : options.size()) + (row.codec.empty() ? 0 : 1),
          .stage = strategy ? strategy->sharded.stage : 0,
          .collectives = row.collectives,
          .memory_bytes = row.memory_bytes,
          .free = row.free_memory,
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
  return row.free_memory && (!strategy || strategy->shards() || shards(row.options()));
}

// Sets the group's reference from the winner of the largest size at which any row fits.
void find_reference(SweepResult& result, ResultGroup& group) {
  double efficiency = 1;
  group.replica_workers = result.rows[group.rows.front()].replica_workers;
  for (auto race = group.by_workers.rbegin(); race != group.by_workers.rend(); ++race) {
    if (race->second.rows.empty()) continue;
    const ResultRow& fastest = result.rows[race->second.rows.front()];
    group.replica_workers = fastest.replica_workers;
    if (!needs_others(fastest)) break;
    group.reference_workers = fastest.workers;
    efficiency = fastest.efficiency;
    for (const std::size_t index : group.rows) {
      const ResultRow& row = result.rows[index];
      if (!row.fits() || row.series != fastest.series || row.workers >= group.reference_workers) continue;
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
  return row.codec.empty() ? std::string(row.strategy) : fmt::format("{} + {}", row.strategy, row.codec);
}

// The columns that are not of this version's sweeps, and so may tell rows apart.
std::vector<std::size_t> unknown_columns(const ResultTable& table) {
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column* known = find_column(table.columns[i]);
    if (!known || (!known->get && !known->has(Column::of_cluster) && !is_added_to_rows(known->key)))
      unknown.push_back(i);
  }
  return unknown;
}

// Names rows by strategy and codec, and by the distinctions in which rows of the same name differ: options, columns of
// a later version, and the collective if any row has a codec.
void name_series(SweepResult& result, const ResultGroup& group, const std::vector<std::size_t>& unknown, bool coded) {
  const auto distinctions_of = [&](const ResultRow& row) {
    NamedValues all = row.options();
    for (const std::size_t i : unknown) all.emplace_back(result.table->columns[i], row.line->cells[i]);
    if (coded) all.emplace_back("collective", row.collective);
    return all;
  };
  struct Distinction {
    std::string first;     // value
    std::size_t rows = 0;  // that have it
    bool differs = false;  // not all of these have the first value
  };
  std::map<std::string, std::size_t> rows;                             // with this head
  std::map<std::pair<std::string, std::string>, Distinction> by_name;  // head and name
  for (const std::size_t index : group.rows) {
    const std::string head = head_of(result.rows[index]);
    ++rows[head];
    for (auto& [name, value] : distinctions_of(result.rows[index])) {
      Distinction& known = by_name[{head, name}];
      if (known.rows++ == 0) known.first = value;
      known.differs |= value != known.first;
    }
  }
  for (const std::size_t index : group.rows) {
    ResultRow& row = result.rows[index];
    const std::string head = head_of(row);
    std::string differing;
    for (const auto& [name, value] : distinctions_of(row))
      if (const Distinction& known = by_name[{head, name}]; known.differs || known.rows < rows[head])
        differing += fmt::format("{}{}={}", differing.empty() ? "" : ", ", name, value);
    row.series = *result.names->insert(differing.empty() ? head : fmt::format("{} ({})", head, differing)).first;
  }
}

void group_rows(SweepResult& result) {
  using Texts = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;
  std::map<Texts, std::size_t> known;
  const bool coded =
      std::any_of(result.rows.begin(), result.rows.end(), [](const ResultRow& row) { return !row.codec.empty(); });
  const std::vector<std::size_t> unknown = unknown_columns(*result.table);
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    ResultRow& row = result.rows[i];
    const auto [place, fresh] =
        known.emplace(Texts(row.profile, row.network, coded ? "" : row.collective, row.fidelity), result.groups.size());
    if (fresh) result.groups.emplace_back();
    ResultGroup& group = result.groups[place->second];
    group.rows.push_back(i);
    group.by_workers[row.workers].rows.push_back(i);
  }
  for (ResultGroup& group : result.groups) {
    name_series(result, group, unknown, coded);
    for (auto& [workers, race] : group.by_workers) race = race_of(result, race.rows);
    find_reference(result, group);
  }
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
  const SweepResult result = sweep_result_of(table);
  for (const ResultGroup& group : result.groups)
    for (const std::size_t row : group.rows) all[row] = {result.rows[row].relative_efficiency, group.reference_workers};
  return all;
}

SweepResult sweep_result_of(ResultTable table, const WinningRule& rule) {
  SweepResult result{.table = std::make_shared<const ResultTable>(std::move(table)),
                     .rule = rule,
                     .names = std::make_shared<std::set<std::string>>()};
  Reader reader(*result.table);
  result.rows.reserve(result.table->rows.size());
  for (const ResultLine& line : result.table->rows) result.rows.push_back(reader.read(line, *result.names));
  group_rows(result);
  return result;
}

}  // namespace allreplay
