#include "sim/experiment/ranking.hpp"

#include <tuple>

#include "sim/training/memory.hpp"

namespace allreplay {

bool goes_before(const Outcome& a, const Outcome& b) {
  const auto key = [](const Outcome& one) {
    const Metrics& m = one.result.metrics;
    return std::tuple(!fits(one.scenario, one.result), m.iteration_s, m.collectives, one.result.memory.peak);
  };
  return key(a) < key(b);
}

}  // namespace allreplay
