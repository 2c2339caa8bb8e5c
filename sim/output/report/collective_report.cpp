#include "sim/output/report/collective_report.hpp"

#include "sim/inputs/cluster/describe.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/replay/training/collective_choice.hpp"
#include "sim/studies/experiment/over_seeds.hpp"

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
      ViewText{},
      ViewTable{"rows",
                {{"bytes", "{bytes:0}"},
                 quantity("{time_s}"),
                 quantity("{ci95_s}"),
                 quantity("{p95_s}", "time_s"),
                 quantity("{algbw_GBps:4}"),
                 quantity("{busbw_GBps:4}"),
                 {"algorithm", "{algorithm}"},
                 {"protocol", "{protocol}"}}},
      ViewText{},
      ViewNotes{},
  }};
  return view;
}

}  // namespace allreplay
