#include "sim/base/core/time.hpp"

#include "sim/base/core/error.hpp"

namespace allreplay {

void throw_time_overflow() {
  throw TimeOverflow("a simulated time exceeds 106 days (check the units of times, sizes and bandwidths)");
}

}  // namespace allreplay
