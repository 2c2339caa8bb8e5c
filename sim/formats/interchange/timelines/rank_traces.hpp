// Steps of a job's ranks, from one trace per rank: which steps all ranks have, and how far their clocks differ.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/units.hpp"
#include "sim/formats/interchange/timelines/readers.hpp"

namespace allreplay {

/// A step has a number.
template <class Step>
struct RankTrace {
  std::string file;
  std::int64_t number = 0;  ///< rank
  std::vector<Step> steps;
};

/// Sorts a rank's steps and keeps the chosen ones. Throws InputError if there is none, or one occurs twice.
template <class Step>
void choose_steps(RankTrace<Step>& trace, const StepChoice& chosen) {
  std::vector<Step>& steps = trace.steps;
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.number < b.number; });
  const std::int64_t first = steps.front().number, last = steps.back().number;
  std::erase_if(steps, [&](const Step& step) { return !chosen.takes(step.number); });
  if (steps.empty()) throw no_such_steps_error(trace.file, first, last);
  for (std::size_t i = 1; i < steps.size(); ++i)
    if (steps[i].number == steps[i - 1].number)
      throw InputError({trace.file, ""}, fmt::format("has step {} twice", steps[i].number), "each step once");
}

/// Sorts the traces by rank. Throws InputError if two are of the same one.
template <class Trace>
void sort_ranks(std::vector<Trace>& ranks) {
  std::stable_sort(ranks.begin(), ranks.end(), [](const Trace& a, const Trace& b) { return a.number < b.number; });
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (ranks[i].number == ranks[i - 1].number)
      throw InputError({ranks[i].file, ""}, fmt::format("is of rank {}, like {}", ranks[i].number, ranks[i - 1].file),
                       "one trace of each rank");
}

/// Keeps the steps that all ranks ran with the most frequent shape. Returns the numbers of the others. `describe` and
/// `right` are for the error if no step is left.
template <class Trace, class ShapeOf, class Describe>
std::vector<std::int64_t> keep_common_steps(std::vector<Trace>& ranks, const ShapeOf& shape_of,
                                            const Describe& describe, std::string_view right) {
  std::map<decltype(shape_of(ranks.front().steps.front())), std::size_t> counts;
  for (const Trace& rank : ranks)
    for (const auto& step : rank.steps) ++counts[shape_of(step)];
  const auto& usual = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                        return a.second < b.second;
                      })->first;
  constexpr std::size_t most_described = 4;
  std::vector<std::string> had;
  for (std::size_t i = 0; i < std::min(ranks.size(), most_described); ++i)
    had.push_back(fmt::format("rank {} has {} in step {}", ranks[i].number, describe(ranks[i].steps.front()),
                              ranks[i].steps.front().number));
  std::map<std::int64_t, std::size_t> usual_ranks;  // by step number, the ranks on which it has the usual shape
  for (const Trace& rank : ranks)
    for (const auto& step : rank.steps) usual_ranks[step.number] += shape_of(step) == usual;
  for (Trace& rank : ranks)
    std::erase_if(rank.steps, [&](const auto& step) { return usual_ranks[step.number] < ranks.size(); });
  if (ranks.front().steps.empty())
    throw InputError({ranks.front().file, ""},
                     fmt::format("has no step in common with the other ranks' traces: {}{}", fmt::join(had, ", "),
                                 ranks.size() > most_described ? ", …" : ""),
                     right);
  std::vector<std::int64_t> others;
  for (const auto& [number, count] : usual_ranks)
    if (count < ranks.size()) others.push_back(number);
  return others;
}

/// REQUIRES: there is a value.
inline std::int64_t median_of(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const std::int64_t below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

/// Returns the time between two instants in nanoseconds, on any clock. Throws TimeOverflow.
inline Time between(std::int64_t from, std::int64_t to) { return multiplied(add(Time(to), Time(-from)), 1000); }

/// Notes the steps that were left out because of what differs, and by how many nanoseconds each clock is ahead.
template <class Trace>
void note_alignment(const std::vector<Trace>& ranks, const std::vector<std::int64_t>& left_out,
                    std::string_view what_differs, const std::vector<std::int64_t>& ahead, MeasuredJob& job) {
  if (!left_out.empty())
    job.notes.push_back(fmt::format("left out: {} {}, which some ranks did not run, or ran with other {} than most",
                                    left_out.size() == 1 ? "step" : "steps", fmt::join(left_out, ", "), what_differs));
  std::vector<std::string> shifts;
  for (std::size_t i = 1; i < ranks.size(); ++i)
    shifts.push_back(fmt::format("rank {} {}{}", ranks[i].number,
                                 format_duration(std::abs(static_cast<double>(ahead[i])) * 1e-9),
                                 ahead[i] < 0   ? " behind"
                                 : ahead[i] > 0 ? " ahead"
                                                : ""));
  job.notes.push_back(
      fmt::format("clocks aligned with that of rank {}: {}", ranks.front().number, fmt::join(shifts, ", ")));
}

}  // namespace allreplay
