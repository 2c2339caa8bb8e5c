// Shows the cost of a whole training (studies/experiment/training_cost.hpp) in the reports of results.
#pragma once

#include <string>
#include <vector>

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/experiment/training_cost.hpp"

namespace allreplay {

/// The columns of a table on the keys of append_cost().
std::vector<ViewColumn> training_columns();

/// The sentence on the keys of append_cost(), each preceded by `prefix`, such as "goodput/".
std::string training_text(const std::string& prefix = "");

/// The keys of append_cost(), as an object.
JsonValue cost_json(const TrainingCost& cost);

/// The sentence on `cheapest` (cheapest_json()).
ViewText cheapest_text();
JsonValue cheapest_json(const std::string& name, const TrainingCost& cost);

}  // namespace allreplay
