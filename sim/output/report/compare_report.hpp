// The report of `compare`: several outcomes of one profile.
#pragma once

#include <string>
#include <vector>

#include "sim/output/report/view.hpp"
#include "sim/studies/experiment/scaling.hpp"
#include "sim/studies/experiment/training_cost.hpp"

namespace allreplay {

/// Outcomes of one profile, at least one, with the settings in which they differ.
struct Comparison {
  std::vector<Outcome> outcomes;
  std::vector<ScalingReference> references;  ///< one for each outcome
  WinningRule rule;
  bool by_offer = false;   ///< maintained frameworks and the others have separate tables
  Training training = {};  ///< whose cost the rows have; none: not asked
};

/// The rows in the order of the outcomes: the columns of `run --json` and relative efficiency.
JsonValue compare_json(const Comparison& comparison);

/// title, forward_s, backward_s, gradient_bytes, bounds, the common options, groups of such rows race by race (the
/// winner first), the verdicts of races, notes.
JsonValue compare_document(const Comparison& comparison);

const View& compare_view();  ///< of compare_document()

}  // namespace allreplay
