// Who is fastest among rows of a sweep.
#pragma once

#include <string>
#include <vector>

#include "sim/html/sweep_result.hpp"

namespace allreplay {

/// Two are called equally fast when their iteration times are within 0.1 % of each other.
inline constexpr double as_fast = 1.001;

/// Whether there is the search, `best`, and others. What it finds is never slower than those; worth telling is who
/// comes next.
bool has_search_and_others(const SweepResult& result, const Rows& rows);

/// The rows without those of the search.
Rows without_search(const SweepResult& result, const Rows& rows);

/// The series that are as fast as the first row, in the order of the file. REQUIRES: rows with the fastest first.
std::vector<std::string> fastest_series(const SweepResult& result, const Rows& rows);

}  // namespace allreplay
