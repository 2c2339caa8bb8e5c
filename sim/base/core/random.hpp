// Seeded random numbers, the same on every platform.
#pragma once

#include <cstdint>
#include <memory>

namespace allreplay {

/// A stream of random numbers, determined by its two seeds. Streams of different seeds are independent.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream);
  ~Random();
  Random(Random&&) noexcept;
  Random& operator=(Random&&) noexcept;

  double uniform();                        ///< in [0, 1)
  double normal();                         ///< mean 0, standard deviation 1
  std::uint64_t below(std::uint64_t end);  ///< in [0, end), end > 0

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace allreplay
