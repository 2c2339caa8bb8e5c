// The report of `compare`: several outcomes of one profile.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/output/report/view.hpp"
#include "sim/studies/experiment/memory_remedy.hpp"
#include "sim/studies/experiment/over_seeds.hpp"
#include "sim/studies/experiment/scaling.hpp"
#include "sim/studies/experiment/training_cost.hpp"

namespace allreplay {

/// The outcome that needs the least memory, where none fits.
struct SmallestMisfit {
  std::size_t place = 0;
  std::optional<MemoryRemedy> remedy;
};

/// Outcomes of one profile, at least one, with the settings in which they differ.
struct Comparison {
  std::vector<Outcome> outcomes;
  std::vector<ScalingReference> references;  ///< one for each outcome
  WinningRule rule;
  bool by_offer = false;   ///< maintained frameworks and the others have separate tables
  Training training = {};  ///< whose cost the rows have; none: not asked
  /// With seeds, for each outcome what it takes more than the fastest of its race at the same seeds; none for that one,
  /// and where iterations differ in their number of samples.
  std::vector<std::optional<Summary>> over_best = {};
  std::optional<SmallestMisfit> misfit = {};  ///< for the text: none if something fits
};

std::vector<std::optional<Summary>> differences_from_fastest(const Comparison& comparison);

/// Appends over_best_s and over_best_ci95_s if there are several seeds.
void append_paired(Row& row, const Comparison& comparison, std::size_t place);

/// The rows in the order of the outcomes: the columns of `run --json` and relative efficiency.
JsonValue compare_json(const Comparison& comparison);

/// title, forward_s, backward_s, gradient_bytes, bounds, the common options, groups of such rows race by race (the
/// winner first), the verdicts of races, notes.
JsonValue compare_document(const Comparison& comparison);

const View& compare_view();  ///< of compare_document()

}  // namespace allreplay
