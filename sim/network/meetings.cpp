#include "sim/network/meetings.hpp"

#include <algorithm>
#include <utility>

namespace allreplay {

std::vector<Meetings::Met> Meetings::of(std::uint32_t job, std::span<const double> since,
                                        std::span<const double> until) const {
  std::map<std::pair<LinkId, std::uint32_t>, double> sums;
  for (Id id = 1; id < until.size(); ++id) {
    const double lasted = until[id] - (id < since.size() ? since[id] : 0);
    if (!(lasted > 0)) continue;
    for (const Place& place : *places_[id]) {
      if (std::find(place.jobs.begin(), place.jobs.end(), job) == place.jobs.end()) continue;
      for (const std::uint32_t other : place.jobs)
        if (other != job) sums[{place.link, other}] += lasted;
    }
  }
  std::vector<Met> met;
  for (const auto& [where, ps] : sums) met.push_back({where.first, where.second, ps});
  return met;
}

}  // namespace allreplay
