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

/// A random factor on the time of every compute task, drawn anew for each worker, layer and iteration.
struct Jitter {
  JitterKind kind = JitterKind::Normal;
  double sigma = 0;
  std::uint64_t seed = 0;

  double draw(Random& random) const;
};

struct Stragglers {
  std::vector<Slowdown> slow;
  std::optional<Jitter> jitter;
};

/// Reads the keys "stragglers" and "jitter" of a cluster file. Throws InputError.
Stragglers read_stragglers(const Json& cluster, std::int64_t workers);

}  // namespace allreplay
