#include "sim/studies/calibration/score.hpp"

#include <algorithm>
#include <cmath>

namespace allreplay {

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

ErrorSummary summary_of(const std::vector<double>& errors) {
  ErrorSummary summary{.rows = errors.size()};
  if (errors.empty()) return summary;
  std::vector<double> sizes;
  for (const double error : errors) {
    sizes.push_back(std::abs(error));
    summary.too_fast += error > 0;
    if (std::abs(error) > std::abs(summary.worst)) summary.worst = error;
  }
  summary.median = quantile(sizes, 0.5);
  summary.p90 = quantile(sizes, 0.9);
  summary.bias = quantile(errors, 0.5);
  return summary;
}

Contest contest_of(const std::vector<Competitor>& competitors) {
  Contest contest;
  for (std::size_t i = 0; i < competitors.size(); ++i) {
    const Competitor& one = competitors[i];
    for (std::size_t j = 0; j < i; ++j) {
      const Competitor& other = competitors[j];
      if (one.measured == other.measured) continue;
      ++contest.pairs;
      if (one.predicted == other.predicted)
        contest.right += 0.5;
      else if ((one.measured < other.measured) == (one.predicted < other.predicted))
        contest.right += 1;
    }
    if (one.measured > competitors[contest.winner].measured) contest.winner = i;
    const Competitor& advised = competitors[contest.advised];
    if (one.predicted > advised.predicted || (one.predicted == advised.predicted && one.measured < advised.measured))
      contest.advised = i;
  }
  contest.regret = competitors[contest.winner].measured / competitors[contest.advised].measured - 1;
  contest.winner_is_right = contest.regret == 0;
  return contest;
}

}  // namespace allreplay
