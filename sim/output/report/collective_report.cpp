#include "sim/output/report/collective_report.hpp"

#include <algorithm>
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

JsonValue row_json(const CollectiveRow& row) {
  JsonValue json{{"bytes", row.bytes}};
  if (row.operation) json["operation"] = to_string(*row.operation);
  if (!row.routing.empty()) json["routing"] = row.routing;
  json["time_s"] = row.time_s;
  json["algbw_GBps"] = row.algbw_GBps;
  json["busbw_GBps"] = row.busbw_GBps;
  json["messages"] = row.messages;
  json["events"] = row.events;
  json["wall_s"] = row.wall_s;
  if (row.choice) {
    json["algorithm"] = row.choice->algorithm;
    json["protocol"] = row.choice->protocol;
  }
  Row statistics;
  append_statistics(statistics, row.by_seed);
  json.update(json_of(statistics));
  return json;
}

// The cells that identify one of several collectives.
Row identity_of(const PricedCollective& one) {
  const CollectiveChoice choice = collective_of(one.scenario);
  return {{"cluster", named_with_routing(one.scenario.cluster)},
          {"workers", one.scenario.workers},
          {"collective", std::string(choice.algorithm->name)},
          {"fidelity", to_string(choice.fidelity)}};
}

bool have_same(const std::vector<PricedCollective>& all, std::string_view key) {
  const auto cell = [&](const PricedCollective& one) {
    const Row row = identity_of(one);
    return std::ranges::find(row, key, [](const NamedCell& its) { return its.column->key; })->cell;
  };
  return std::all_of(all.begin(), all.end(), [&](const auto& one) { return cell(one) == cell(all.front()); });
}

}  // namespace

JsonValue collective_rows(const std::vector<CollectiveRow>& rows) {
  auto array = JsonValue::array();
  for (const CollectiveRow& row : rows) array.push_back(row_json(row));
  return array;
}

JsonValue collective_json(const Scenario& scenario, const CollectivePricing& pricing) {
  const CollectiveChoice choice = collective_of(scenario);
  JsonValue json{{"rows", collective_rows(pricing.rows)},
                 {"collective", choice.algorithm->name},
                 {"workers", scenario.workers},
                 {"cluster", named_with_routing(scenario.cluster)},
                 {"fidelity", to_string(choice.fidelity)},
                 {"messages_each", pricing.messages},
                 {"notes", JsonValue::array()}};
  if (!scenario.seeds.empty() && !is_random(scenario)) json["notes"].push_back({{"note", "no random routes"}});
  if (scenario.operation) json["operation"] = to_string(*scenario.operation);
  return json;
}

const View& collective_heading_view() {
  static const View view{
      {ViewText{"[{operation}: ]{collective} among {workers} workers on {cluster}, {fidelity}[: "
                "{messages_each:nonzero} messages each]"}}};
  return view;
}

const View& collective_view() {
  static const View view{{
      &collective_heading_view(),
      ViewTable{"rows",
                {{"bytes", "{bytes:0}"},
                 quantity("{time_s}"),
                 quantity("{ci95_s}"),
                 quantity("{p95_s}", "time_s"),
                 quantity("{algbw_GBps:4}"),
                 quantity("{busbw_GBps:4}"),
                 {"algorithm", "{algorithm}"},
                 {"protocol", "{protocol}"}}},
      ViewNotes{},
  }};
  return view;
}

std::vector<std::size_t> fastest_by_size(const std::vector<PricedCollective>& all) {
  std::vector<std::size_t> fastest(all.front().pricing.rows.size(), 0);
  for (std::size_t size = 0; size < fastest.size(); ++size)
    for (std::size_t one = 1; one < all.size(); ++one)
      if (all[one].pricing.rows[size].busbw_GBps > all[fastest[size]].pricing.rows[size].busbw_GBps)
        fastest[size] = one;
  return fastest;
}

std::vector<std::string> names_of(const std::vector<PricedCollective>& all) {
  std::vector<std::string> names;
  const bool same_collective = have_same(all, "collective"), same_cluster = have_same(all, "cluster"),
             same_workers = have_same(all, "workers"), same_fidelity = have_same(all, "fidelity");
  for (const PricedCollective& one : all) {
    const CollectiveChoice choice = collective_of(one.scenario);
    std::vector<std::string> parts;
    if (!same_collective) parts.emplace_back(choice.algorithm->name);
    if (!same_cluster) parts.push_back(named_with_routing(one.scenario.cluster));
    if (!same_workers) parts.push_back(fmt::format("{} workers", one.scenario.workers));
    if (!same_fidelity) parts.push_back(to_string(choice.fidelity));
    names.push_back(parts.empty() ? std::string(choice.algorithm->name) : fmt::format("{}", fmt::join(parts, ", ")));
  }
  return names;
}

std::vector<Row> collectives_rows(const std::vector<PricedCollective>& all) {
  const std::vector<std::size_t> fastest = fastest_by_size(all);
  const bool some_choose =
      std::ranges::any_of(all, [](const PricedCollective& one) { return one.pricing.rows.front().choice.has_value(); });
  std::vector<Row> rows;
  for (std::size_t one = 0; one < all.size(); ++one)
    for (std::size_t size = 0; size < fastest.size(); ++size) {
      const CollectiveRow& priced = all[one].pricing.rows[size];
      Row row = identity_of(all[one]);
      row.emplace_back("bytes", priced.bytes);
      if (priced.operation) row.emplace_back("operation", to_string(*priced.operation));
      row.emplace_back("time_s", priced.time_s);
      row.emplace_back("algbw_GBps", priced.algbw_GBps);
      row.emplace_back("busbw_GBps", priced.busbw_GBps);
      row.emplace_back("messages", priced.messages);
      if (some_choose) {
        row.emplace_back("algorithm", priced.choice ? Cell(std::string(priced.choice->algorithm)) : Cell());
        row.emplace_back("protocol", priced.choice ? Cell(std::string(priced.choice->protocol)) : Cell());
      }
      row.emplace_back("fastest", fastest[size] == one);
      append_statistics(row, priced.by_seed);
      rows.push_back(std::move(row));
    }
  return rows;
}

JsonValue collectives_json(const std::vector<PricedCollective>& all) {
  JsonValue json{{"rows", JsonValue::array()}, {"common", JsonValue::object()}, {"leaders", JsonValue::array()}};
  Row common = identity_of(all.front());
  std::erase_if(common, [&](const NamedCell& one) { return !have_same(all, one.column->key); });
  json["common"] = json_of(common);
  const auto is_common = [&](const NamedCell& one) {
    return std::ranges::any_of(common, [&](const NamedCell& other) { return other.column == one.column; });
  };
  for (Row row : collectives_rows(all)) {
    std::erase_if(row, is_common);
    json["rows"].push_back(json_of(row));
  }
  if (all.front().scenario.operation) json["operation"] = to_string(*all.front().scenario.operation);
  const std::vector<std::size_t> fastest = fastest_by_size(all);
  const std::vector<std::string> names = names_of(all);
  for (std::size_t size = 0; size < fastest.size(); ++size) {
    const Bytes bytes = all.front().pricing.rows[size].bytes;
    if (size > 0 && fastest[size] == fastest[size - 1])
      json["leaders"].back()["to"] = bytes;
    else
      json["leaders"].push_back({{"name", names[fastest[size]]}, {"from", bytes}, {"to", bytes}});
  }
  return json;
}

const View& collectives_heading_view() {
  static const View view{
      {ViewText{"[{operation}: ][{collective}, ][{workers} workers, ][{cluster}, ][{fidelity}, ]"
                "bus bandwidth by size"}}};
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
                            quantity("{ci95_s}"),
                            quantity("{algbw_GBps:4}"),
                            {.title = "busbw GB/s", .cell = "{busbw_GBps:4}", .sign = "* fastest"},
                            {"algorithm", "{algorithm}"},
                            {"protocol", "{protocol}"}},
                .keys = 5},
      ViewList{.items = "leaders", .text = "Fastest from {from:exact} to {to:exact}: {name}.", .most = 12},
  }};
  return view;
}

}  // namespace allreplay
