// The phrase book: how lists, counts, shares and comparisons are said, in tables' notes, on pages and in pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allreplay {

std::string percent(double ratio);                                ///< "12.5 %"
std::string gain_text(double gain);                               ///< "+12.5 %"
std::string in_words(std::size_t count);                          ///< "three"; from 13 on digits
std::string workers_text(std::int64_t workers);                   ///< "1 worker", "8 workers"
std::string workers_text(std::int64_t least, std::int64_t most);  ///< "8 workers", "4 to 8 workers"

/// "a, b and c", or "a, b and 4 more"; "a, b; and c" where a name has a comma of its own.
std::string listed(std::vector<std::string> names, std::size_t most = 5);

/// Decimals of a rate, so that small ones differ, too.
int rate_decimals(double per_second);

/// "5441.0 samples/s"; where nobody says how many samples there are, "85.0 micro-batches/s".
std::string rate_text(const std::optional<double>& samples_per_s, double batches_per_s);

/// "3.2 % longer", "1.25 times as long". `times`: of the shorter time.
std::string longer_text(double times);

}  // namespace allreplay
