// The speeds of rounds that move together. The same combinations of rounds return again and again, so that each is
// solved once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/meetings.hpp"

namespace allreplay {

/// Rounds that load the links alike.
struct AlikeRounds {
  std::uint32_t shape = 0;
  std::uint32_t count = 0;
  double speed = 0;  ///< of each: the fraction of full speed
};

/// A hash table of combinations, by their shapes and counts. The rounds of all of them are in one list: what a look-up
/// takes is the latency of memory, and so it reads in two places only.
class KnownSpeeds {
 public:
  /// Keeps combinations of at most so many AlikeRounds in all (of the default: some 500 MB), then begins anew.
  explicit KnownSpeeds(std::size_t most = 10'000'000) : most_(most) { forget(); }

  /// Sets the speeds of the combination, and returns the meeting that it is; null: it is not known.
  const Meetings::Id* recall(std::span<AlikeRounds> combination) const;
  /// REQUIRES: it is not known, and not empty.
  void keep(std::span<const AlikeRounds> combination, Meetings::Id meeting);
  void forget();

 private:
  struct Place {
    std::uint32_t first = 0;  // in rounds_
    std::uint32_t size = 0;   // 0: it is free
    std::uint32_t hash = 0;
    Meetings::Id meeting = Meetings::none;
  };

  std::size_t place_of(std::uint32_t hash, std::span<const AlikeRounds> combination) const;

  std::size_t most_;
  std::vector<AlikeRounds> rounds_;
  std::vector<Place> places_;  // a power of two; at most half of them are taken
  std::size_t taken_ = 0;
};

}  // namespace allreplay
