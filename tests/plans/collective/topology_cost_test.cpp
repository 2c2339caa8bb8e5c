#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/plans/collective/comm_cost.hpp"

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

TEST_CASE("beta in the file overrides the topology's") {
  // 2·15·10 us + 16e6 B · (2·15/16·1 ns/B + 15/16·0.5 ns/B) = 300 us + 37.5 ms
  CHECK(ring(network(R"("beta": "1 ns/B", )"), 16, 16'000'000) == to_time(37.8e-3));
}

TEST_CASE(
    "hierarchical on hosts of several GPUs pays the inner link inside, and the host's one port for all of them "
    "outside") {
  const auto on_star = [](const std::string& rest) {
    return read_cluster(
               Json::parse(R"({"name": "c", "workers": 8, "network": {"alpha": "10 us", )" + rest +
                               R"("topology": {"kind": "star", "link": {"latency": "1 us", "bandwidth": "1 GB/s"},
                                           "gpus_per_host": 4, "inner": {"latency": "2 us", "bandwidth": "100 GB/s"}}}})",
                           "c.json"))
        .network;
  };
  const Algorithm& hierarchical = find_algorithm("hierarchical", {});
  // Two hosts: inside 2·3 messages of 10 + 4 us and 2·3/4·0.01 ns/B; outside 2·1 of 10 + 4 + 2 us and 2·1/8·4·1 ns/B:
  // 84 + 32 us, 0.015 + 1 ns/B.
  CHECK(price(on_star(""), hierarchical, 8, 8, {.groups = 2})(1'000'000) == to_time(116e-6 + 1.015e-3));
  // A beta in the file is the port's: 2·3 and 2·1 messages of 10 us, 0.015 + 2·1/8·4·2 ns/B.
  CHECK(price(on_star(R"("beta": "2 ns/B", )"), hierarchical, 8, 8, {.groups = 2})(1'000'000) ==
        to_time(80e-6 + 2.015e-3));
}

TEST_CASE("a rail topology without nodes in the file gives both levels to every closed form") {
  const auto rail = [](const std::string& rest) {
    return read_cluster(
               Json::parse(R"({"name": "c", "workers": 8, "network": {"alpha": "10 us", "topology": {"kind": "rail",
             "link": {"latency": "1 us", "bandwidth": "1 GB/s"}, "gpus_per_host": 4, "rails": 2, )" +
                               rest + R"("inner": {"latency": "2 us", "bandwidth": "100 GB/s"}}}})",
                           "c.json"))
        .network;
  };
  // 2·6 messages of 14 us inside, 2·1 of 16 us outside; 2·7/8·max(0.01, 1/2) ns/B.
  CHECK(ring(rail(""), 8, 1'000'000) == to_time(200e-6 + 0.875e-3));
  // By the sender's rail, from rail 1 to rail 0 over a spine: two links more, at a quarter.
  CHECK(ring(rail(R"("pxn": false, "oversubscription": 4, )"), 8, 1'000'000) == to_time(204e-6 + 3.5e-3));
  CHECK_THROWS_AS(price(rail(""), find_algorithm("hierarchical", {}), 6, 8, {}), InputError);
}

TEST_CASE("closed forms reject links that differ from the others or are down") {
  const Network network =
      read_cluster(Json::parse(R"({"name": "c", "workers": 4, "network": {"alpha": "1 us", "topology":
      {"kind": "star", "link": {"latency": "1 us", "bandwidth": "1 GB/s"}, "links": [{"between": ["h0", "s0"],
      "bandwidth": "0.1 GB/s"}]}}})",
                               "c.json"))
          .network;
  for (const char* name : {"ring", "hierarchical", "halving-doubling"})
    CHECK(error_place([&] { price(network, find_algorithm(name, {}), 4, 4, {}); }) ==
          "c.json: /network/topology/links");
  CHECK(price(network, find_algorithm("ring", {}), 1, 4, {})(1) == Time(0));
}

TEST_CASE("more workers than the topology has hosts are an error") {
  CHECK_THROWS_AS(ring(network(""), 17, 1), InputError);
}
