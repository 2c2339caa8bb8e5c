#include "sim/replay/network/meetings.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace allreplay {

Meetings::Place Meetings::place(LinkId link, std::span<const std::uint32_t> jobs) {
  place_.assign(1, link);
  place_.insert(place_.end(), jobs.begin(), jobs.end());
  return places_.number(place_);
}

Meetings::Id Meetings::number(std::span<const Place> places) {
  const Id id = meetings_.number(places);
  if (id == lasted_.size()) lasted_.push_back(0);
  return id;
}

std::vector<Meetings::Met> Meetings::of(std::uint32_t job, std::span<const double> since,
                                        std::span<const double> until) const {
  std::vector<double> full(places_.size(), 0);  // by place: the time for which it was full, ps
  for (Id id = 1; id < until.size(); ++id) {
    const double lasted = until[id] - (id < since.size() ? since[id] : 0);
    if (!(lasted > 0)) continue;
    for (const Place place : meetings_[id]) full[place] += lasted;
  }
  std::map<std::pair<LinkId, std::uint32_t>, double> sums;
  for (Place id = 1; id < full.size(); ++id) {
    const LinkId link = places_[id][0];
    const std::span<const std::uint32_t> jobs = places_[id].subspan(1);
    if (full[id] == 0 || std::find(jobs.begin(), jobs.end(), job) == jobs.end()) continue;
    for (const std::uint32_t other : jobs)
      if (other != job) sums[{link, other}] += full[id];
  }
  std::vector<Met> met;
  for (const auto& [where, ps] : sums) met.push_back({where.first, where.second, ps});
  return met;
}

}  // namespace allreplay
