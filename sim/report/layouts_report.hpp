// What `recommend --model` prints.
#pragma once

#include <string>

#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"
#include "sim/experiment/layouts.hpp"

namespace allreplay {

constexpr std::size_t layouts_shown = 12;

/// "pp 4, tp 8, interleaved x2, 16 x 1 samples, recompute full, megatron".
std::string layout_words(const ModelLayout& layout);

/// One page: the fastest layouts, and of each framework's fastest the words that say it.
std::string layouts_report(const LayoutAdvice& advice, const LayoutSearch& search, const Screen& screen = {});

/// All that were simulated, best first. The columns of `run --json`, and: recompute, micro_batch (samples), framework,
/// settings, estimate (the words that write its profile), run (those that replay it).
JsonValue layouts_json(const LayoutAdvice& advice, const WinningRule& rule);

}  // namespace allreplay
