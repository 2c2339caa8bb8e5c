// What a sweep says across its profiles, clusters and collectives.
#pragma once

#include <string>
#include <vector>

#include "sim/html/sweep_result.hpp"

namespace allreplay {

/// Sentences: who is fastest in which of the sweep's cases, and by how much; and for each profile that stands on
/// several clusters (or collectives) which pair of strategy and cluster is, with as many workers as most of them have.
/// Empty where there is one case.
std::vector<std::string> verdict(const SweepResult& result);

}  // namespace allreplay
