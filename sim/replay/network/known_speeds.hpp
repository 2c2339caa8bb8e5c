// Remembers the speeds of rounds that move simultaneously, since the same combinations occur again and again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/replay/network/large_pages.hpp"
#include "sim/replay/network/meetings.hpp"
#include "sim/replay/network/moving_rounds.hpp"
#include "sim/replay/network/number_table.hpp"

namespace allreplay {

/// A hash table of combinations of shapes. A look-up is bound by memory latency, so it reads one cache line for four
/// rounds.
class KnownSpeeds {
 public:
  /// Keeps at most `most` rounds in total (by default some 160 MB), then starts again from empty.
  explicit KnownSpeeds(std::size_t most = 10'000'000) : most_(most) { forget(); }

  /// Sets the speeds of a known combination, and returns its meeting; null if it is not known.
  const Meetings::Id* recall(MovingRounds& moving) const;
  /// REQUIRES: the combination is not known, and not empty.
  void keep(const MovingRounds& moving, Meetings::Id meeting);
  void forget();

  /// Four rounds of a combination, in one cache line.
  struct alignas(64) Four {
    std::array<double, MovingRounds::lanes> speed;
    std::array<std::uint32_t, MovingRounds::lanes> shape;
    std::uint32_t size;  // of the combination
    Meetings::Id meeting;
  };
  /// A known combination of rounds and of one more, which has this place among them.
  struct WithOneMore {
    const Four* known = nullptr;
    std::size_t place = 0;

    double its_speed() const { return known[place / MovingRounds::lanes].speed[place % MovingRounds::lanes]; }
    std::uint32_t its_shape() const { return known[place / MovingRounds::lanes].shape[place % MovingRounds::lanes]; }
    double speed_of(std::size_t i) const {
      const std::size_t there = i + (i >= place ? 1 : 0);
      return known[there / MovingRounds::lanes].speed[there % MovingRounds::lanes];
    }
    std::uint32_t shape_of(std::size_t i) const {
      const std::size_t there = i + (i >= place ? 1 : 0);
      return known[there / MovingRounds::lanes].shape[there % MovingRounds::lanes];
    }
  };
  /// Finds these rounds with one of `shape`; `known` is null if they are not known together. REQUIRES: no round of
  /// `moving` has this shape, and `place` of them have earlier ones.
  WithOneMore recall(const MovingRounds& moving, std::uint32_t shape, std::size_t place) const;

 private:
  static std::uint32_t hash_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

  std::size_t most_;
  std::vector<Four, LargePages<Four>> kept_;
  NumberTable first_;  // of a combination's entries in kept_
};

}  // namespace allreplay
