// Remembers the speeds of rounds that move simultaneously, since the same combinations occur again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/replay/network/meetings.hpp"

namespace allreplay {

/// Moving rounds of the same shape: they load the links identically.
struct AlikeRounds {
  std::uint32_t shape = 0;
  std::uint32_t count = 0;
  double speed = 0;  ///< of each round, as a fraction of full speed
};

/// A hash table of combinations, by their shapes and counts. The rounds of all combinations are in one list, so that
/// a look-up, which is bound by memory latency, reads only two places.
class KnownSpeeds {
 public:
  /// Keeps at most `most` AlikeRounds in total (by default some 500 MB), then starts again from empty.
  explicit KnownSpeeds(std::size_t most = 10'000'000) : most_(most) { forget(); }

  /// Sets the speeds of a known combination, and returns its meeting; null if it is not known.
  const Meetings::Id* recall(std::span<AlikeRounds> combination) const;
  /// REQUIRES: the combination is not known, and not empty.
  void keep(std::span<const AlikeRounds> combination, Meetings::Id meeting);
  void forget();

 private:
  struct Place {
    std::uint32_t first = 0;  // index into rounds_
    std::uint32_t size = 0;   // 0: free
    std::uint32_t hash = 0;
    Meetings::Id meeting = Meetings::none;
  };

  std::size_t place_of(std::uint32_t hash, std::span<const AlikeRounds> combination) const;

  std::size_t most_;
  std::vector<AlikeRounds> rounds_;
  std::vector<Place> places_;  // their number is a power of two; at most half of them are taken
  std::size_t taken_ = 0;
};

}  // namespace allreplay
