#include "sim/replay/network/meetings.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace allreplay {

// Fowler, Noll and Vo's hash, a number at a time.
std::size_t Meetings::Hash::operator()(const std::vector<std::uint32_t>& numbers) const {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::uint32_t number : numbers) hash = (hash ^ number) * 0x100000001b3;
  return hash ^ hash >> 32;
}

std::size_t Meetings::Hash::operator()(const Place& place) const {
  return place.link * 0x9e3779b97f4a7c15 ^ (*this)(place.jobs);
}

Meetings::Id Meetings::number(const std::vector<Place>& places) {
  if (places.empty()) return none;
  std::vector<PlaceId> all;
  all.reserve(places.size());
  for (const Place& place : places) {
    const auto [known, fresh] = place_numbers_.emplace(place, static_cast<PlaceId>(places_.size()));
    if (fresh) {
      places_.push_back(&known->first);
      bytes_ += static_cast<double>(150 + place.jobs.size() * sizeof(std::uint32_t));
    }
    all.push_back(known->second);
  }
  const auto [known, fresh] = numbers_.emplace(std::move(all), static_cast<Id>(meetings_.size()));
  if (fresh) {
    meetings_.push_back(&known->first);
    lasted_.push_back(0);
    bytes_ += static_cast<double>(150 + places.size() * sizeof(PlaceId));
  }
  return known->second;
}

std::vector<Meetings::Met> Meetings::of(std::uint32_t job, std::span<const double> since,
                                        std::span<const double> until) const {
  std::vector<double> full(places_.size(), 0);  // by place: the time for which it was full, ps
  for (Id id = 1; id < until.size(); ++id) {
    const double lasted = until[id] - (id < since.size() ? since[id] : 0);
    if (!(lasted > 0)) continue;
    for (const PlaceId place : *meetings_[id]) full[place] += lasted;
  }
  std::map<std::pair<LinkId, std::uint32_t>, double> sums;
  for (PlaceId id = 0; id < full.size(); ++id) {
    const Place& place = *places_[id];
    if (full[id] == 0 || std::find(place.jobs.begin(), place.jobs.end(), job) == place.jobs.end()) continue;
    for (const std::uint32_t other : place.jobs)
      if (other != job) sums[{place.link, other}] += full[id];
  }
  std::vector<Met> met;
  for (const auto& [where, ps] : sums) met.push_back({where.first, where.second, ps});
  return met;
}

}  // namespace allreplay
