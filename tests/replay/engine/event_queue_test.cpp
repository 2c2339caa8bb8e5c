#include "sim/replay/engine/event_queue.hpp"

#include <algorithm>

#include "tests/catch.hpp"

#include "sim/base/core/random.hpp"

using namespace allreplay;

TEST_CASE("servers wake in the order of their instants, the lower number first") {
  Random random(7, 0);
  for (std::size_t servers = 1; servers <= 9; ++servers) {
    EventQueue queue(servers);
    std::vector<Time> wake(servers, never);  // by server: the same, kept plainly
    for (int step = 0; step < 2000; ++step) {
      const auto server = static_cast<std::uint32_t>(random.below(servers));
      const Time at = random.below(4) == 0 ? never : Time(static_cast<std::int64_t>(random.below(5)));
      queue.schedule(server, at);
      wake[server] = at;
      const auto first = std::min_element(wake.begin(), wake.end());
      if (*first == never) {
        REQUIRE(queue.next() == never);
        continue;
      }
      REQUIRE(queue.next() == *first);
      REQUIRE(!queue.pop(*first + Time(1)));
      if (random.below(2) == 0) continue;
      REQUIRE(queue.pop(*first) == static_cast<std::uint32_t>(first - wake.begin()));
      *first = never;
    }
  }
}
