// What `recommend` prints.
#pragma once

#include <string>
#include <vector>

#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"
#include "sim/experiment/recommend.hpp"

namespace allreplay {

/// One page: the ranking, what bounds each iteration, and what to do.
std::string recommend_report(const std::vector<Advice>& ranking, const WinningRule& rule, const Screen& screen = {});

/// One page for several numbers of workers: efficiency by strategy, and where it falls under `line`.
/// REQUIRES: the same strategies at each size.
std::string scaling_report(const std::vector<std::vector<Advice>>& sizes, double line, const WinningRule& rule,
                           const Screen& screen = {});

/// The columns of `run --json`, and: gap (above bound_s), bound_s (lower_bound_s), bound_by, exposed_by (seconds, by
/// what for), untuned_iteration_s, framework, settings, run (the words that replay the row), reference_workers,
/// relative_efficiency.
JsonValue recommend_json(const std::vector<std::vector<Advice>>& sizes, const WinningRule& rule);

}  // namespace allreplay
