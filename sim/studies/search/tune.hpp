// Tuning: finds the options with the shortest iteration time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/studies/search/search_space.hpp"

namespace allreplay {

enum class TuneMethod : std::uint8_t {
  Grid,   ///< equally many values of each option, evenly on the logarithmic scale
  Bayes,  ///< each value of a choice, if the budget allows; then random trials, and those with the largest expected
          ///< improvement
};

struct TuneRequest {
  std::vector<Range> ranges;  ///< at least one
  std::int64_t budget = 32;   ///< most trials
  TuneMethod method = TuneMethod::Bayes;
  std::uint64_t seed = 1;
};

struct TrialResult {
  double iteration_s = 0;
  double memory_bytes = 0;
  bool fits = true;              ///< into the memory limit
  std::int64_t collectives = 0;  ///< per iteration
};

struct Trial : TrialResult {
  std::vector<std::string> values;  ///< by range
};

/// Returns the costs of several settings, in their order; may compute them concurrently.
using Measure = std::function<std::vector<TrialResult>(const std::vector<std::vector<std::string>>& settings)>;

/// Returns the trials in their order. The first one is `given` (the current options, by range) if it lies in the
/// ranges, so that the best trial is never worse. No setting is tried twice. Settings are chosen four at a time, so
/// that the result does not depend on how many are measured concurrently.
std::vector<Trial> tune(const TuneRequest& request, const std::vector<std::string>& given, const Measure& measure);

/// True if only `a` fits, or both fit and `a` is faster, or neither fits and `a` needs less memory.
bool better(const Trial& a, const Trial& b);

/// Returns the index of the fastest trial that fits, or of the smallest if none does; ties go to the earliest.
std::size_t fastest(const std::vector<Trial>& trials);

}  // namespace allreplay
