#include "sim/replay/network/known_speeds.hpp"

#include <algorithm>
#include <utility>

namespace allreplay {

namespace {

// A sum, whose terms the processor computes in parallel. Constants: Steele, Lea and Flood's SplitMix64.
std::uint32_t hash_of(std::span<const AlikeRounds> combination) {
  std::uint64_t sum = 0;
  for (const AlikeRounds& rounds : combination) {
    std::uint64_t mixed = (std::uint64_t{rounds.shape} << 32 | rounds.count) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 32) * 0x94d049bb133111eb;
    sum += mixed ^ mixed >> 32;
  }
  return static_cast<std::uint32_t>(sum >> 32);
}

bool same(const AlikeRounds& a, const AlikeRounds& b) { return a.shape == b.shape && a.count == b.count; }

}  // namespace

// The first place, from that of the hash on, that has the combination or is free.
std::size_t KnownSpeeds::place_of(std::uint32_t hash, std::span<const AlikeRounds> combination) const {
  for (std::size_t place = hash;; ++place) {
    place &= places_.size() - 1;
    const Place& here = places_[place];
    const auto rounds = std::span(rounds_).subspan(here.first, here.size);
    if (here.size == 0 || (here.hash == hash && std::ranges::equal(rounds, combination, same))) return place;
  }
}

const Meetings::Id* KnownSpeeds::recall(std::span<AlikeRounds> combination) const {
  const Place& place = places_[place_of(hash_of(combination), combination)];
  if (place.size == 0) return nullptr;
  std::copy_n(rounds_.begin() + place.first, place.size, combination.begin());
  return &place.meeting;
}

void KnownSpeeds::keep(std::span<const AlikeRounds> combination, Meetings::Id meeting) {
  if (rounds_.size() + combination.size() > most_) forget();
  if (2 * ++taken_ > places_.size())
    for (const Place& place : std::exchange(places_, std::vector<Place>(2 * places_.size())))
      if (place.size > 0) places_[place_of(place.hash, std::span(rounds_).subspan(place.first, place.size))] = place;
  const std::uint32_t hash = hash_of(combination);
  places_[place_of(hash, combination)] = {static_cast<std::uint32_t>(rounds_.size()),
                                          static_cast<std::uint32_t>(combination.size()), hash, meeting};
  rounds_.insert(rounds_.end(), combination.begin(), combination.end());
}

void KnownSpeeds::forget() {
  rounds_.clear();
  places_.assign(1, {});
  taken_ = 0;
}

}  // namespace allreplay
