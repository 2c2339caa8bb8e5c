#include "sim/replay/training/collective_pricing.hpp"

#include "tests/catch.hpp"

#include "sim/base/core/json.hpp"

using namespace allreplay;

// A ring among 4 at 1 GB/s without start-up moves 2·3/4 bytes per byte: 1.5 ms for 1 MB, algbw 2/3 GB/s, busbw the
// link's. In six rounds each of the four sends a message.
TEST_CASE("bandwidths as nccl-tests has them") {
  Scenario ring;
  ring.cluster.workers = ring.workers = 4;
  ring.cluster.network.alpha = 0;
  ring.cluster.network.topology =
      read_topology(Json::parse(R"({"kind": "star", "link": {"latency": "0 us", "bandwidth": "1 GB/s"}})", "topology"));
  ring.fidelity = "message";
  const CollectivePricing pricing = price_collective(ring, {0, 1'000'000});
  CHECK(pricing.messages == 24);
  CHECK(pricing.rows[0].algbw_GBps == 0);
  CHECK(pricing.rows[0].messages == 0);
  CHECK(pricing.rows[1].time_s == Approx(1.5e-3));
  CHECK(pricing.rows[1].algbw_GBps == Approx(2.0 / 3));
  CHECK(pricing.rows[1].busbw_GBps == Approx(1));
  CHECK(pricing.rows[1].messages == 24);
  CHECK(bus_factor(find_algorithm("all-gather", {}), 4) == 3);
  CHECK(bus_factor(find_algorithm("reduce-scatter", {}), 4) == 0.75);
  CHECK(bus_factor(find_algorithm("broadcast", {}), 4) == 1);
}
