// Formats lists, counts, shares and comparisons for notes, pages and pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/json_value.hpp"

namespace allreplay {

std::string percent(double ratio);   ///< "12.5 %"
std::string gain_text(double gain);  ///< "+12.5 %"

/// Returns "a, b and c" or "a, b and 4 more"; with semicolons if a name contains a comma outside parentheses.
std::string listed(std::vector<std::string> names, std::size_t most = 5);

/// Returns the number of decimals with which a rate is shown: more for small rates.
int rate_decimals(double per_second);

/// Returns "5441.0 samples/s", or "85.0 micro-batches/s" if samples are unknown.
std::string rate_text(const std::optional<double>& samples_per_s, double batches_per_s);

/// Returns "3.2 % longer", "1.25 times as long" or, if `times` is below 1, "3.2 % shorter".
std::string longer_text(double times);

/// Names the winners of runs of numbers of workers, an array of {winner, from, to}: "ddp up to 16, fsdp2 on 32 to 64
/// and wfbp from 128 on".
std::string runs_text(const JsonValue& runs);

}  // namespace allreplay
