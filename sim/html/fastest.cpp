#include "sim/html/fastest.hpp"

#include <algorithm>

namespace allreplay {

namespace {

bool is_search(const ResultRow& row) { return row.strategy == "best"; }

}  // namespace

bool has_search_and_others(const SweepResult& result, const Rows& rows) {
  const auto searched = [&](std::size_t row) { return is_search(result.rows[row]); };
  return std::any_of(rows.begin(), rows.end(), searched) && !std::all_of(rows.begin(), rows.end(), searched);
}

Rows without_search(const SweepResult& result, const Rows& rows) {
  Rows others;
  for (const std::size_t row : rows)
    if (!is_search(result.rows[row])) others.push_back(row);
  return others;
}

std::vector<std::string> fastest_series(const SweepResult& result, const Rows& rows) {
  Rows chosen;
  for (const std::size_t row : rows)
    if (result.rows[row].iteration_s <= as_fast * result.rows[rows.front()].iteration_s) chosen.push_back(row);
  std::sort(chosen.begin(), chosen.end());
  std::vector<std::string> names;
  for (const std::size_t row : chosen)
    if (std::find(names.begin(), names.end(), result.rows[row].series) == names.end())
      names.push_back(result.rows[row].series);
  return names;
}

}  // namespace allreplay
