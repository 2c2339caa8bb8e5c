// The report of the command `collective`: collectives in isolation by message size, as nccl-tests prints them.
#pragma once

#include <string>
#include <vector>

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/replay/training/collective_pricing.hpp"
#include "sim/studies/results/row.hpp"

namespace allreplay {

/// The array that `--json` prints of a single collective.
JsonValue collective_rows(const std::vector<CollectiveRow>& rows);

/// One of several collectives, which are priced for the same sizes.
struct PricedCollective {
  Scenario scenario;
  CollectivePricing pricing;
};

/// The place of the collective with the largest bus bandwidth of each size; the first of equal ones.
std::vector<std::size_t> fastest_by_size(const std::vector<PricedCollective>& all);

/// Returns for each the words that distinguish it from the others: "ring, 16 workers".
std::vector<std::string> names_of(const std::vector<PricedCollective>& all);

/// The rows of all, as JSON and CSV have them: what identifies each, its times, and whether it is the fastest.
std::vector<Row> collectives_rows(const std::vector<PricedCollective>& all);
/// An object with these "rows" (of a single collective: collective_rows()), what all have in "common" instead of in
/// each, and the "leaders" by size if there are several.
JsonValue collectives_json(const std::vector<PricedCollective>& all);

/// "ring among 16 workers on fat-tree-4, message: 480 messages each".
const View& collectives_heading_view();
const View& collectives_view();

}  // namespace allreplay
