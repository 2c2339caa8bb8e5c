// A hash table of numbers. The caller compares the things that they number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/replay/network/large_pages.hpp"

namespace allreplay {

/// A look-up is bound by memory latency, so it reads one small place.
class NumberTable {
 public:
  static constexpr std::uint32_t none = 0;

  /// The number with this hash for which `is_it` returns true; `none` if there is none.
  template <class IsIt>
  std::uint32_t find(std::uint32_t hash, const IsIt& is_it) const {
    for (std::size_t at = hash;; ++at) {
      const Place place = places_[at & (places_.size() - 1)];
      if (place.number == none || (place.hash == hash && is_it(place.number))) return place.number;
    }
  }

  /// REQUIRES: number != none, and it is not in the table.
  void add(std::uint32_t hash, std::uint32_t number) {
    if (2 * ++taken_ > places_.size())
      for (const Place& place : std::exchange(places_, Places(2 * places_.size())))
        if (place.number != none) put(place);
    put({hash, number});
  }

  double bytes() const { return static_cast<double>(places_.size() * sizeof(Place)); }

 private:
  struct Place {
    std::uint32_t hash = 0;
    std::uint32_t number = none;
  };
  using Places = std::vector<Place, LargePages<Place>>;

  void put(const Place& place) {
    std::size_t at = place.hash;
    while (places_[at & (places_.size() - 1)].number != none) ++at;
    places_[at & (places_.size() - 1)] = place;
  }

  Places places_ = Places(1);  // their number is a power of two; at most half of them are taken
  std::size_t taken_ = 0;
};

}  // namespace allreplay
