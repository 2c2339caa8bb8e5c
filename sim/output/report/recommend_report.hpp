// The report of `recommend`.
#pragma once

#include <vector>

#include "sim/output/report/view.hpp"
#include "sim/studies/experiment/recommend.hpp"
#include "sim/studies/experiment/training_cost.hpp"

namespace allreplay {

/// The advice on all sizes, each best first. The columns of `run --json`, and: gap (above bound_s), bound_s
/// (lower_bound_s), bound_by, exposed_by (seconds by cause), untuned_iteration_s, framework, settings, run (the words
/// that replay the row), reference_workers, relative_efficiency.
/// The cost of a training that is asked about follows.
JsonValue recommend_json(const std::vector<std::vector<Advice>>& sizes, const WinningRule& rule,
                         const Training& training = {});

/// One size: title, rows (as above, with rank, name and marks), the parts of the winner's iteration, limits that no
/// schedule changes, races (verdicts, with settings and run: of maintained frameworks, if their winner is another one,
/// and of all), notes.
JsonValue recommend_document(const std::vector<Advice>& ranking, const WinningRule& rule,
                             const Training& training = {});
const View& recommend_view();

/// Several sizes: the winner of each, the cheapest of these, and for each strategy up to which size its efficiency is
/// at least `line`.
JsonValue scaling_document(const std::vector<std::vector<Advice>>& sizes, double line, const WinningRule& rule,
                           const Training& training = {});
const View& scaling_view();

}  // namespace allreplay
