// Tuning: which options give the least iteration time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/search/search_space.hpp"

namespace allreplay {

enum class TuneMethod : std::uint8_t {
  Grid,   ///< as many values of each option as the budget allows, evenly on the logarithmic scale
  Bayes,  ///< each word of a choice, where the budget allows; then Bayesian optimisation: random trials, and those of
          ///< the largest expected improvement
};

struct TuneRequest {
  std::vector<Range> ranges;  ///< at least one
  std::int64_t budget = 32;   ///< trials, at most
  TuneMethod method = TuneMethod::Bayes;
  std::uint64_t seed = 1;
};

/// What a setting costs.
struct TrialResult {
  double iteration_s = 0;
  double memory_bytes = 0;
  bool fits = true;              ///< into the memory that there is
  std::int64_t collectives = 0;  ///< started per iteration
};

struct Trial : TrialResult {
  std::vector<std::string> values;  ///< of each range's option
};

/// Costs of several settings, in their order; they may be computed side by side.
using Measure = std::function<std::vector<TrialResult>(const std::vector<std::vector<std::string>>& settings)>;

/// The trials in their order. The first is `given` (the options as they are, by range) if it lies in the ranges, so
/// that tuning never makes anything worse. No setting is tried twice. Settings are chosen four at a time, so that the
/// result depends on the request alone, not on how many are measured at once.
std::vector<Trial> tune(const TuneRequest& request, const std::vector<std::string>& given, const Measure& measure);

/// What fits goes before what does not; then the faster, or of what does not fit the smaller.
bool better(const Trial& a, const Trial& b);

/// The index of the fastest trial that fits, or of the smallest if none does; the earliest among equals.
std::size_t fastest(const std::vector<Trial>& trials);

}  // namespace allreplay
