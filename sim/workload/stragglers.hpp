// Workers that are slower than the profile says, always or at random.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/json.hpp"
#include "sim/core/random.hpp"

namespace allreplay {

struct Slowdown {
  std::int64_t worker = 0;
  double factor = 1;  ///< of every compute task's time, > 0
};

enum class JitterKind : std::uint8_t {
  Normal,     ///< 1 + sigma z, not below 0
  LogNormal,  ///< exp(sigma z − sigma²/2): mean 1
  Uniform,    ///< 1 + sigma √3 (2u − 1), not below 0: standard deviation sigma
};

/// A random number, made of a normal one `z` but for Uniform: Normal and LogNormal as above. REQUIRES: not Uniform.
double deviation(JitterKind kind, double sigma, double z);

/// A random factor on the time of every compute task, drawn anew for each worker, layer and iteration.
struct Jitter {
  JitterKind kind = JitterKind::Normal;
  double sigma = 0;
  std::uint64_t seed = 0;

  double draw(Random& random) const;
};

/// How far workers differ that nobody slows: each has one factor, for ever, on the time of every compute task.
struct Spread {
  JitterKind kind = JitterKind::Normal;  ///< or LogNormal
  double sigma = 0;
  std::optional<std::uint64_t> seed;  ///< none: what is to be expected of the slowest

  /// Of a worker that drew `z` of the normal distribution.
  double factor(double z) const;
  /// What the seed says of a worker. REQUIRES: seed.
  double of(std::int64_t worker) const;
  /// The mean of the largest factor among so many workers.
  double expected_largest(std::int64_t workers) const;
};

struct Stragglers {
  std::vector<Slowdown> slow;
  std::optional<Jitter> jitter;
  std::optional<Spread> spread;

  bool any() const { return !slow.empty() || jitter || spread; }
};

/// Reads the keys "stragglers", "jitter" and "spread" of a cluster file. Throws InputError.
Stragglers read_stragglers(const Json& cluster, std::int64_t workers);

}  // namespace allreplay
