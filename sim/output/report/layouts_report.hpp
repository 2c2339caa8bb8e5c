// The report of `recommend --model`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/output/report/view.hpp"
#include "sim/studies/experiment/layouts.hpp"
#include "sim/studies/experiment/training_cost.hpp"

namespace allreplay {

constexpr std::size_t layouts_shown = 12;

/// "pp 4, tp 8, interleaved x2, 16 x 1 samples, recompute full, megatron".
std::string layout_words(const ModelLayout& layout);

/// All that were simulated, best first. The columns of `run --json`, and: recompute, micro_batch (samples), framework,
/// settings, estimate (the words that write its profile), run (those that replay it), yours (if one is the user's own).
JsonValue layouts_json(const LayoutAdvice& advice, const WinningRule& rule, const Training& training = {});

/// The places in the ranking of the fastest, of those that the verdict names, and of the user's own.
std::vector<std::size_t> layouts_to_show(const LayoutAdvice& advice, const LayoutSearch& search);

/// These rows with shares of the iteration and marks; the numbers of layouts tried and skipped; the
/// verdict; the settings of each framework's fastest; notes.
JsonValue layouts_document(const LayoutAdvice& advice, const LayoutSearch& search, const Training& training = {});

const View& layouts_view();  ///< of layouts_document()

}  // namespace allreplay
