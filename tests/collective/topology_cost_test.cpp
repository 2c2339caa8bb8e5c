#include "tests/catch.hpp"

#include "sim/collective/comm_cost.hpp"

using namespace allreplay;

namespace {

Network network(const std::string& rest) {
  return read_cluster(
             Json::parse(R"({"name": "c", "workers": 16, "network": {"alpha": "10 us", "gamma": "0.5 ns/B", )" + rest +
                             R"("topology": {"kind": "fat-tree", "ports": 4, "oversubscription": 2,
                                                      "link": {"latency": "1 us", "bandwidth": "1 GB/s"}}}})",
                         "c.json"))
      .network;
}

Time ring(const Network& network, std::int64_t workers, Bytes bytes) {
  return price(network, find_algorithm("ring", {}), workers, 16, {})(bytes);
}

}  // namespace

TEST_CASE("a topology without beta gives its latency and its slowest link to the closed form") {
  // Neighbours in different pods: six links, the slowest an oversubscribed one of 0.5 GB/s.
  // 2·15·(10 + 6) us + 16e6 B · (2·15/16·2 ns/B + 15/16·0.5 ns/B) = 480 us + 67.5 ms
  CHECK(ring(network(""), 16, 16'000'000) == to_time(67.98e-3));
  // Two hosts of one edge switch: 2·1·(10 + 2) us + 16e6 B · (2/2·1 ns/B + 1/2·0.5 ns/B) = 24 us + 20 ms
  CHECK(ring(network(""), 2, 16'000'000) == to_time(20.024e-3));
}

TEST_CASE("beta in the file goes before the topology's") {
  // 2·15·10 us + 16e6 B · (2·15/16·1 ns/B + 15/16·0.5 ns/B) = 300 us + 37.5 ms
  CHECK(ring(network(R"("beta": "1 ns/B", )"), 16, 16'000'000) == to_time(37.8e-3));
}

TEST_CASE("more workers than the topology has hosts are an error") {
  CHECK_THROWS_AS(ring(network(""), 17, 1), InputError);
}
