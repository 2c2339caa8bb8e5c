#include "sim/report/collective_report.hpp"

#include <fmt/format.h>

#include "sim/cluster/describe.hpp"
#include "sim/core/json_value.hpp"
#include "sim/core/text.hpp"
#include "sim/report/table.hpp"
#include "sim/training/collective_choice.hpp"

namespace allreplay {

std::string collective_heading(const Scenario& scenario, const CollectivePricing& pricing) {
  const CollectiveChoice choice = collective_of(scenario);
  std::string text = scenario.operation ? fmt::format("{}: ", to_string(*scenario.operation)) : "";
  text += fmt::format("{} among {} on {}, {}", choice.algorithm->name, counted(scenario.workers, "worker"),
                      named_with_routing(scenario.cluster), to_string(choice.fidelity));
  if (pricing.messages > 0) text += fmt::format(": {} each", counted(pricing.messages, "message"));
  return text + "\n\n";
}

std::string collective_table(const std::vector<CollectiveRow>& rows, const Screen& screen) {
  std::vector<TableColumn> columns{{"size", "B"}, {"time", "us"}, {"algbw", "GB/s"}, {"busbw", "GB/s"}};
  const bool choices = !rows.empty() && rows.front().choice;
  if (choices) columns.insert(columns.end(), {"algorithm", "protocol"});
  Table table(columns);
  for (const CollectiveRow& row : rows) {
    std::vector<TableCell> cells{cell::count(row.bytes), cell::number(row.time_s * 1e6, 2),
                                 cell::number(row.algbw_GBps, 4), cell::number(row.busbw_GBps, 4)};
    if (choices) cells.insert(cells.end(), {row.choice->algorithm, row.choice->protocol});
    table.add(std::move(cells));
  }
  return table.text(screen);
}

JsonValue collective_json(const std::vector<CollectiveRow>& rows) {
  auto array = JsonValue::array();
  for (const CollectiveRow& row : rows) {
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
    array.push_back(std::move(json));
  }
  return array;
}

}  // namespace allreplay
