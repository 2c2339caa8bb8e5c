// Workers that are slower than the profile: always, at random for each task, or at random for each worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/core/json.hpp"
#include "sim/base/core/random.hpp"

namespace allreplay {

struct Slowdown {
  std::int64_t worker = 0;
  double factor = 1;  ///< on the time of every compute task, > 0
};

enum class JitterKind : std::uint8_t {
  Normal,     ///< 1 + sigma z, not below 0
  LogNormal,  ///< exp(sigma z − sigma²/2): mean 1
  Uniform,    ///< 1 + sigma √3 (2u − 1), not below 0: standard deviation sigma
};

/// The factor for a normally distributed z, as defined above. REQUIRES: the kind is not Uniform.
double deviation(JitterKind kind, double sigma, double z);

/// A random factor on the time of every compute task, drawn independently for each worker, layer and iteration.
struct Jitter {
  JitterKind kind = JitterKind::Normal;
  double sigma = 0;
  std::uint64_t seed = 0;

  double draw(Random& random) const;
};

/// The variation between workers: each has one constant factor on the time of every compute task.
struct Spread {
  JitterKind kind = JitterKind::Normal;  ///< or LogNormal
  double sigma = 0;
  std::optional<std::uint64_t> seed;  ///< none: the slowest worker has its expected factor

  /// The factor of a worker with the normally distributed number `z`.
  double factor(double z) const;
  /// The factor that the seed gives a worker. REQUIRES: seed.
  double of(std::int64_t worker) const;
  /// The mean of the largest factor among `workers` workers.
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
