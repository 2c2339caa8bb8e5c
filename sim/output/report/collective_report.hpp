// The report of the command `collective`: one collective in isolation, by message size, as nccl-tests prints it.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/replay/training/collective_pricing.hpp"

namespace allreplay {

/// The array that `--json` prints.
JsonValue collective_rows(const std::vector<CollectiveRow>& rows);
/// An object with these "rows".
JsonValue collective_json(const Scenario& scenario, const CollectivePricing& pricing);

/// "ring among 16 workers on fat-tree-4, message: 480 messages each".
const View& collective_heading_view();
const View& collective_view();

}  // namespace allreplay
