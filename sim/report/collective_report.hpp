// What the command `collective` prints: a collective alone, by message size, as nccl-tests prints it.
#pragma once

#include <string>
#include <vector>

#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"
#include "sim/training/collective_pricing.hpp"

namespace allreplay {

/// "ring among 16 workers on fat-tree-4, message: 480 messages each".
std::string collective_heading(const Scenario& scenario, const CollectivePricing& pricing);

std::string collective_table(const std::vector<CollectiveRow>& rows, const Screen& screen = {});
JsonValue collective_json(const std::vector<CollectiveRow>& rows);

}  // namespace allreplay
