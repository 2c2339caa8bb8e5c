#include "sim/training/best.hpp"

namespace allreplay {

Plan find_best(const Scenario& scenario) {
  Scenario other = scenario;
  other.strategy = &strategies()[1];
  return plan_of(other);
}

}  // namespace allreplay
