#include "sim/output/report/training_report.hpp"

#include <fmt/format.h>

namespace allreplay {

std::vector<ViewColumn> training_columns() {
  return {{"training", "{training_s:long}"},
          {"GPU-hours", "{gpu_hours:grouped}"},
          {"cost ($)", "{cost_usd:grouped}"},
          {"energy (kWh)", "{energy_kwh:grouped}"}};
}

std::string training_text(const std::string& prefix) {
  return fmt::format(
      "{{{0}training_s:long}}, {{{0}gpu_hours:grouped}} GPU-hours[, ${{{0}cost_usd:grouped}}][, "
      "{{{0}energy_kwh:grouped}} kWh]",
      prefix);
}

JsonValue cost_json(const TrainingCost& cost) {
  Row row;
  append_cost(row, cost);
  return json_of(row);
}

ViewText cheapest_text() {
  return {"Cheapest within the tie: {cheapest/name}: ${cheapest/cost_usd:grouped} in {cheapest/training_s:long}."};
}

JsonValue cheapest_json(const std::string& name, const TrainingCost& cost) {
  return {{"name", name}, {"cost_usd", cost.usd}, {"training_s", cost.seconds}};
}

}  // namespace allreplay
