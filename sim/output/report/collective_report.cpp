#include "sim/output/report/collective_report.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/inputs/cluster/describe.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/replay/training/collective_choice.hpp"
#include "sim/studies/experiment/over_seeds.hpp"
#include "sim/studies/results/row.hpp"

namespace allreplay {

namespace {

// Appends an operation's price. `is_single`: as the only one of its command, whose simulation is described, too.
void append_price(Row& row, const CollectiveRow& priced, bool is_single) {
  row.emplace_back("bytes", priced.bytes);
  if (priced.operation) row.emplace_back("operation", to_string(*priced.operation));
  if (is_single && !priced.routing.empty()) row.emplace_back("routing", priced.routing);
  row.emplace_back("time_s", priced.time_s);
  row.emplace_back("algbw_GBps", priced.algbw_GBps);
  row.emplace_back("busbw_GBps", priced.busbw_GBps);
  row.emplace_back("messages", priced.messages);
  if (!is_single) return;
  row.emplace_back("events", priced.events);
  row.emplace_back("wall_s", priced.wall_s);
}

void append_choice(Row& row, const std::optional<NcclChoice>& choice) {
  row.emplace_back("algorithm", choice ? Cell(std::string(choice->algorithm)) : Cell());
  row.emplace_back("protocol", choice ? Cell(std::string(choice->protocol)) : Cell());
}

// The cells that identify one of several collectives.
Row identity_of(const PricedCollective& one) {
  const CollectiveChoice choice = collective_of(one.scenario);
  return {{"cluster", named_with_routing(one.scenario.cluster)},
          {"workers", one.scenario.workers},
          {"collective", std::string(choice.algorithm->name)},
          {"fidelity", to_string(choice.fidelity)}};
}

// The cells of identity_of() that all have.
Row common_to(const std::vector<PricedCollective>& all) {
  Row common = identity_of(all.front());
  for (const PricedCollective& one : all) {
    const Row own = identity_of(one);
    std::erase_if(common, [&](const NamedCell& cell) {
      return std::ranges::find(own, cell.column, &NamedCell::column)->cell != cell.cell;
    });
  }
  return common;
}

}  // namespace

JsonValue collective_rows(const std::vector<CollectiveRow>& rows) {
  return array_of(rows, [](const CollectiveRow& priced) {
    Row row;
    append_price(row, priced, true);
    if (priced.choice) append_choice(row, priced.choice);
    append_statistics(row, priced.by_seed);
    return json_of(row);
  });
}

std::vector<std::vector<std::size_t>> rivals_of(const std::vector<PricedCollective>& all) {
  std::map<std::size_t, std::vector<std::size_t>> by_problem;
  for (std::size_t one = 0; one < all.size(); ++one) by_problem[all[one].problem].push_back(one);
  std::vector<std::vector<std::size_t>> rivals;
  for (auto& [problem, places] : by_problem) rivals.push_back(std::move(places));
  return rivals;
}

std::vector<std::size_t> fastest_by_size(const std::vector<PricedCollective>& all,
                                         const std::vector<std::size_t>& rivals) {
  std::vector<std::size_t> fastest(all.front().pricing.rows.size(), rivals.front());
  for (std::size_t size = 0; size < fastest.size(); ++size)
    for (const std::size_t one : rivals)
      if (all[one].pricing.rows[size].busbw_GBps > all[fastest[size]].pricing.rows[size].busbw_GBps)
        fastest[size] = one;
  return fastest;
}

namespace {

using ColumnSet = std::set<const Column*>;

// Joins the cells that identify a collective, without those of columns to be left out.
std::string identifying_words(const PricedCollective& one, const ColumnSet& left_out) {
  std::vector<std::string> parts;
  const Row row = identity_of(one);
  for (const std::size_t cell : {2, 0, 1, 3})  // the collective first
    if (!left_out.contains(row[cell].column))
      parts.push_back(unquoted_text(row[cell].cell) + (cell == 1 ? " workers" : ""));
  return fmt::format("{}", fmt::join(parts, ", "));
}

ColumnSet columns_common_to(const std::vector<PricedCollective>& all) {
  ColumnSet columns;
  for (const NamedCell& cell : common_to(all)) columns.insert(cell.column);
  return columns;
}

// Appends the fastest of the rivals by size; nothing if they do not differ.
void append_leaders(JsonValue& leaders, const std::vector<PricedCollective>& all,
                    const std::vector<std::size_t>& rivals) {
  std::vector<PricedCollective> some;
  for (const std::size_t one : rivals) some.push_back(all[one]);
  const ColumnSet common = columns_common_to(some);
  ColumnSet known = columns_common_to(all);  // from the heading, or from the leader's name
  for (const NamedCell& cell : identity_of(some.front()))
    if (!common.contains(cell.column)) known.insert(cell.column);
  const std::string problem = identifying_words(some.front(), known);
  const std::vector<std::size_t> fastest = fastest_by_size(all, rivals);
  for (std::size_t size = 0; size < fastest.size(); ++size) {
    const std::string name = identifying_words(all[fastest[size]], common);
    if (name.empty()) return;
    const Bytes bytes = all.front().pricing.rows[size].bytes;
    if (size > 0 && fastest[size] == fastest[size - 1]) {
      leaders.back()["to"] = bytes;
      continue;
    }
    leaders.push_back({{"name", name}, {"from", bytes}, {"to", bytes}});
    if (!problem.empty()) leaders.back()["problem"] = problem;
  }
}

}  // namespace

std::vector<std::string> names_of(const std::vector<PricedCollective>& all) {
  ColumnSet common = columns_common_to(all);
  if (common.size() == identity_of(all.front()).size()) common.erase(&column_of("collective"));
  std::vector<std::string> names;
  for (const PricedCollective& one : all) names.push_back(identifying_words(one, common));
  return names;
}

std::vector<Row> collectives_rows(const std::vector<PricedCollective>& all) {
  std::vector<std::vector<std::size_t>> fastest(all.size());
  for (const std::vector<std::size_t>& rivals : rivals_of(all))
    for (const std::size_t one : rivals) fastest[one] = fastest_by_size(all, rivals);
  const bool some_choose =
      std::ranges::any_of(all, [](const PricedCollective& one) { return one.pricing.rows.front().choice.has_value(); });
  std::vector<Row> rows;
  for (std::size_t one = 0; one < all.size(); ++one)
    for (std::size_t size = 0; size < fastest[one].size(); ++size) {
      const CollectiveRow& priced = all[one].pricing.rows[size];
      Row row = identity_of(all[one]);
      append_price(row, priced, false);
      if (some_choose) append_choice(row, priced.choice);
      row.emplace_back("fastest", fastest[one][size] == one);
      append_statistics(row, priced.by_seed);
      rows.push_back(std::move(row));
    }
  return rows;
}

JsonValue collectives_json(const std::vector<PricedCollective>& all) {
  const Row common = common_to(all);
  JsonValue json{{"rows", JsonValue::array()},
                 {"common", json_of(common)},
                 {"leaders", JsonValue::array()},
                 {"notes", JsonValue::array()}};
  const Scenario& scenario = all.front().scenario;
  if (scenario.operation) json["operation"] = to_string(*scenario.operation);
  if (!scenario.seeds.empty() && !is_random(scenario)) json["notes"].push_back({{"note", "no random routes"}});
  if (all.size() == 1) {
    json["rows"] = collective_rows(all.front().pricing.rows);
    json["messages_each"] = all.front().pricing.messages;
    return json;
  }
  json["several"] = true;
  const auto is_nccl = [](const PricedCollective& one) {
    return collective_of(one.scenario).algorithm->name == "nccl";
  };
  if (std::ranges::any_of(all, is_nccl) && !std::ranges::all_of(all, is_nccl))
    json["notes"].push_back({{"note", "only nccl corrected"}});
  for (const std::vector<std::size_t>& rivals : rivals_of(all)) append_leaders(json["leaders"], all, rivals);
  const bool is_contest = !json["leaders"].empty();
  const auto is_left_out = [&](const NamedCell& one) {
    return std::ranges::find(common, one.column, &NamedCell::column) != common.end() ||
           (one.column->key == "fastest" && !is_contest);
  };
  for (Row row : collectives_rows(all)) {
    std::erase_if(row, is_left_out);
    json["rows"].push_back(json_of(row));
  }
  return json;
}

const View& collectives_heading_view() {
  static const View view{{
      ViewText{"[{operation}: ]{common/collective} among {common/workers} workers on {common/cluster}, "
               "{common/fidelity}[: {messages_each:nonzero} messages each]",
               "!several"},
      ViewText{"[{operation}: ][{common/collective}, ][{common/workers} workers, ][{common/cluster}, "
               "][{common/fidelity}, ]bus bandwidth by size",
               "several"},
  }};
  return view;
}

const View& collectives_view() {
  static const View view{{
      &collectives_heading_view(),
      ViewTable{.rows = "rows",
                .columns = {{"cluster", "{cluster}"},
                            {"workers", "{workers}"},
                            {"collective", "{collective}"},
                            {"fidelity", "{fidelity}"},
                            {"bytes", "{bytes:0}"},
                            quantity("{time_s}"),
                            interval("{ci95_s}", "time_s"),
                            quantity("{p95_s}", "time_s"),
                            quantity("{algbw_GBps:4}"),
                            quantity("{busbw_GBps:4}", "", "* fastest"),
                            {"algorithm", "{algorithm}"},
                            {"protocol", "{protocol}"}},
                .keys = 5},
      ViewText{"*: the largest bus bandwidth at its size", "leaders"},
      ViewNotes{},
      ViewList{
          .items = "leaders", .text = "Fastest[ ({problem})] from {from:exact} to {to:exact}: {name}.", .most = 12},
  }};
  return view;
}

}  // namespace allreplay
