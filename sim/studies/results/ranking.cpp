#include "sim/studies/results/ranking.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace allreplay {

std::optional<double> free_share(const std::optional<Bytes>& limit, double bytes) {
  return limit ? std::optional(1 - bytes / static_cast<double>(*limit)) : std::nullopt;
}

bool leaves_room(const std::optional<double>& free, const WinningRule& rule) { return !free || *free >= rule.headroom; }

namespace {

// By contender: the time with less bandwidth between nodes if it is beyond the tie of the least there, else 0. All are
// 0 unless the times of all ties are known.
std::vector<double> losses_in_doubt(const std::vector<Contender>& contenders, const std::vector<bool>& ties,
                                    const WinningRule& rule) {
  std::vector<double> losses(contenders.size(), 0);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (!ties[i]) continue;
    if (!contenders[i].doubted_s) return losses;
    least = std::min(least, *contenders[i].doubted_s);
  }
  for (std::size_t i = 0; i < contenders.size(); ++i)
    if (ties[i] && *contenders[i].doubted_s > least * (1 + rule.tie)) losses[i] = *contenders[i].doubted_s;
  return losses;
}

}  // namespace

Ranking rank(const std::vector<Contender>& contenders, const WinningRule& rule) {
  const auto fits_well = [&](const Contender& one) { return one.fits && leaves_room(one.free, rule); };
  const bool any = std::any_of(contenders.begin(), contenders.end(), fits_well);
  const auto competes = [&](const Contender& one) { return any ? fits_well(one) : one.fits; };
  double least = std::numeric_limits<double>::infinity();
  for (const Contender& one : contenders)
    if (competes(one)) least = std::min(least, one.iteration_s);
  const auto ties = [&](const Contender& one) { return competes(one) && one.iteration_s <= least * (1 + rule.tie); };
  const auto effort = [](const Contender& one) {
    return std::tuple(!one.runs_now, one.is_crowded(), one.is_crowded() ? one.memory_bytes : 0, one.offered,
                      one.changed, one.stage);
  };
  const auto cost = [](const Contender& one) { return std::tuple(one.iteration_s, one.collectives, one.memory_bytes); };
  const auto standing = [&](const Contender& one) { return std::tuple(!one.fits, !competes(one), cost(one)); };
  std::vector<bool> tied;
  for (const Contender& one : contenders) tied.push_back(ties(one));
  const std::vector<double> losses = losses_in_doubt(contenders, tied, rule);
  Ranking ranking;
  ranking.order.resize(contenders.size());
  std::iota(ranking.order.begin(), ranking.order.end(), std::size_t{0});
  std::stable_sort(ranking.order.begin(), ranking.order.end(), [&](std::size_t first, std::size_t second) {
    const Contender &a = contenders[first], &b = contenders[second];
    if (ties(a) != ties(b)) return ties(a);
    if (losses[first] != losses[second]) return losses[first] < losses[second];
    if (ties(a) && effort(a) != effort(b)) return effort(a) < effort(b);
    return standing(a) < standing(b);
  });
  ranking.tied = static_cast<std::size_t>(std::count_if(contenders.begin(), contenders.end(), ties));
  return ranking;
}

}  // namespace allreplay
