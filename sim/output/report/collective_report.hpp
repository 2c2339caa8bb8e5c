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
  std::size_t problem = 0;  ///< only collectives of one problem compete: one cluster, workers and fidelity
  CollectivePricing pricing = {};
};

/// The collectives of each problem, as places in `all`.
std::vector<std::vector<std::size_t>> rivals_of(const std::vector<PricedCollective>& all);

/// The place of the rival with the largest bus bandwidth of each size; the first of equal ones.
std::vector<std::size_t> fastest_by_size(const std::vector<PricedCollective>& all,
                                         const std::vector<std::size_t>& rivals);

/// Returns for each the words that distinguish it from the others: "ring, 16 workers".
std::vector<std::string> names_of(const std::vector<PricedCollective>& all);

/// The rows of all, as JSON and CSV have them: what identifies each, its times, and whether it is the
/// fastest of its problem.
std::vector<Row> collectives_rows(const std::vector<PricedCollective>& all);
/// An object with these "rows" (of a single collective: collective_rows()), what all have in "common" instead of in
/// each, and the "leaders" of each problem by size if its collectives differ.
JsonValue collectives_json(const std::vector<PricedCollective>& all);

/// "ring among 16 workers on fat-tree-4, message: 480 messages each".
const View& collectives_heading_view();
const View& collectives_view();

}  // namespace allreplay
