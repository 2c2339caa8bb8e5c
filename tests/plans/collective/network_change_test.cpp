// Flags such as --bandwidth x4, applied to a cluster's file.
#include "sim/plans/collective/network_change.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

using namespace allreplay;

namespace {

const SourceLocation flag{"command line", "--flag"};
constexpr auto outside = Level::Outside, inside = Level::Inside;

Adjustment times(double factor) { return {factor, 0}; }
Adjustment to(double value) { return {std::nullopt, value}; }

Network of_constants() {
  Network network;
  network.alpha = 10e-6;
  network.beta = 1e-9;
  return network;
}

Network of_links() {
  Network network;
  network.topology = read_topology(Json::parse(R"({"kind": "graph", "link": {"latency": "2 us", "bandwidth": "1 GB/s"},
"hosts": ["a", "b", "c"], "switches": [], "links": [{"between": ["a", "b"]}, {"between": ["b", "c"], "bandwidth": "3 GB/s"}]})",
                                               "cluster.json"));
  return network;
}

// A ring among 4: 2·3 start-ups, 2·3/4 bytes and 3/4 reduced bytes for each byte: 60 us, 3 + 0.3 ns/B.
Network measured() {
  Network network;
  network.measured = MeasuredCost{"ring", 4, 60e-6, 3.3e-9, 0.4e-9, {}};
  return network;
}

Network of_a_table() {
  Network network;
  network.table = {{8, 10e-6}, {1'000'000, 110e-6}};
  network.tables = {{16, {{8, 20e-6}, {1'000'000, 40e-6}}}};
  return network;
}

Network of_nodes() {
  Network network = of_constants();
  network.node = NodeLevel{8, 2e-6, 4e-12, 2, {}};
  return network;
}

}  // namespace

TEST_CASE("constants and links: a factor, or a value in their place") {
  Network network = of_constants();
  change_bandwidth(network, outside, times(2), flag);
  CHECK(*network.beta == Approx(0.5e-9));
  change_bandwidth(network, outside, to(4e9), flag);
  CHECK(*network.beta == Approx(0.25e-9));
  change_latency(network, outside, times(0.5), false, flag);
  CHECK(*network.alpha == Approx(5e-6));
  change_latency(network, outside, to(7e-6), false, flag);
  CHECK(*network.alpha == Approx(7e-6));

  network = of_links();
  REQUIRE(network.topology->graph_links.size() == 2);
  const auto bandwidth = [&](std::size_t link) { return network.topology->graph_links[link].link.bandwidth; };
  const auto latency = [&](std::size_t link) { return network.topology->graph_links[link].link.latency; };
  change_bandwidth(network, outside, times(2), flag);
  CHECK(bandwidth(0) == Approx(2e9));
  CHECK(bandwidth(1) == Approx(6e9));
  change_latency(network, outside, times(3), false, flag);
  CHECK(latency(0) == Approx(6e-6));
  CHECK(latency(1) == Approx(6e-6));
  CHECK(*network.alpha == 0);
  change_latency(network, outside, to(1e-6), false, flag);  // on top of the links'
  CHECK(*network.alpha == Approx(1e-6));
  CHECK(latency(0) == Approx(6e-6));
  CHECK(error_place([&] { change_bandwidth(network, outside, to(1e9), flag); }) == "command line: --flag");
  network.topology->graph_links[1].link.bandwidth = 2e9;
  change_bandwidth(network, outside, to(5e9), flag);
  CHECK(bandwidth(0) == Approx(5e9));
  CHECK(bandwidth(1) == Approx(5e9));
}

TEST_CASE("a link that differs from the others keeps its ratio to them") {
  Network network;
  network.topology = read_topology(Json::parse(R"({"kind": "star", "link": {"latency": "2 us", "bandwidth": "1 GB/s"},
"links": [{"between": ["h0", "s0"], "bandwidth": "3 GB/s"}, {"between": ["h1", "s0"], "latency": "5 us"}]})",
                                               "cluster.json"));
  change_bandwidth(network, outside, to(2e9), flag);
  change_latency(network, outside, times(2), false, flag);
  CHECK(network.topology->link.bandwidth == Approx(2e9));
  CHECK(network.topology->link.latency == Approx(4e-6));
  REQUIRE(network.topology->changes.size() == 2);
  CHECK(*network.topology->changes[0].bandwidth == Approx(6e9));
  CHECK(!network.topology->changes[0].latency);
  CHECK(!network.topology->changes[1].bandwidth);
  CHECK(*network.topology->changes[1].latency == Approx(10e-6));
}

TEST_CASE("in costs measured as a whole, links change neither start-up nor reduction") {
  Network network = measured();
  change_bandwidth(network, outside, times(2), flag);  // 3/2 + 0.3
  CHECK(network.measured->b == Approx(1.8e-9));
  CHECK(network.measured->a == Approx(60e-6));
  network = measured();
  change_bandwidth(network, outside, to(1e9), flag);  // 1.5 bytes at 1 ns, + 0.3
  CHECK(network.measured->b == Approx(1.8e-9));
  change_latency(network, outside, times(0.5), false, flag);
  CHECK(network.measured->a == Approx(30e-6));
  change_latency(network, outside, to(4e-6), false, flag);  // 6 messages
  CHECK(network.measured->a == Approx(24e-6));
  CHECK(network.measured->b == Approx(1.8e-9));
}

TEST_CASE("of a table's times, the first is the start-up") {
  Network network = of_a_table();
  change_bandwidth(network, outside, times(2), flag);
  CHECK(network.table[0].seconds == Approx(10e-6));
  CHECK(network.table[1].seconds == Approx(60e-6));
  CHECK(network.tables[0].table[1].seconds == Approx(30e-6));
  CHECK(error_place([&] { change_bandwidth(network, outside, to(4e9), flag); }) == "command line: --flag");
  network = of_a_table();
  network.line_rate = 1e9;
  change_bandwidth(network, outside, to(4e9), flag);
  CHECK(network.table[1].seconds == Approx(35e-6));
  CHECK(*network.line_rate == Approx(4e9));
  change_bandwidth(network, outside, times(2), flag);
  CHECK(*network.line_rate == Approx(8e9));

  network = of_a_table();
  change_latency(network, outside, times(0.5), false, flag);
  CHECK(network.table[0].seconds == Approx(5e-6));
  CHECK(network.table[1].seconds == Approx(105e-6));
  CHECK(network.tables[0].table[0].seconds == Approx(10e-6));
  change_latency(network, outside, times(0), false, flag);
  CHECK(network.table[0].seconds == Approx(1e-12));  // never nothing
  CHECK(network.table[1].seconds == Approx(100e-6));
  CHECK(error_place([&] { change_latency(network, outside, to(1e-6), false, flag); }) == "command line: --flag");
}

TEST_CASE("inside nodes") {
  Network network = of_nodes();
  change_bandwidth(network, inside, times(2), flag);
  CHECK(*network.node->beta == Approx(2e-12));
  CHECK(*network.beta == Approx(1e-9));
  change_bandwidth(network, inside, to(500e9), flag);
  CHECK(*network.node->beta == Approx(2e-12));
  change_latency(network, inside, times(0.5), false, flag);
  CHECK(*network.node->alpha == Approx(1e-6));
  CHECK(*network.alpha == Approx(10e-6));

  network.topology = read_topology(Json::parse(
      R"({"kind": "star", "link": {"latency": "2 us", "bandwidth": "1 GB/s"}, "gpus_per_host": 8,
"inner": {"latency": "1 us", "bandwidth": "100 GB/s"}})",
      "cluster.json"));
  change_bandwidth(network, inside, times(2), flag);
  CHECK(*network.node->beta == Approx(1e-12));
  CHECK(network.topology->inner.bandwidth == Approx(200e9));
  CHECK(network.topology->link.bandwidth == Approx(1e9));
  change_latency(network, inside, times(3), false, flag);
  CHECK(network.topology->inner.latency == Approx(3e-6));

  for (Network one : {of_constants(), of_links()}) {
    const std::string said =
        "command line: --flag: the cluster's network has one level (a cluster with \"node\", or with "
        "\"gpus_per_host\")";
    CHECK(error_place([&] { change_bandwidth(one, inside, times(2), flag); }) == "command line: --flag");
    CHECK(error_place([&] { change_latency(one, inside, times(2), false, flag); }) == "command line: --flag");
    CHECK(error_place([&] { change_node(one, 4, flag); }) == "command line: --flag");
  }
  Network whole = of_nodes();
  whole.node->alpha.reset();
  whole.node->beta.reset();
  CHECK(error_place([&] { change_bandwidth(whole, inside, times(2), flag); }) == "command line: --flag");
}

TEST_CASE("NCCL's own latencies are those that a factor changes") {
  Network network = of_nodes();
  network.nccl.emplace();
  change_latency(network, outside, times(2), true, flag);
  CHECK(network.nccl->network.latency == 2);
  CHECK(*network.alpha == Approx(10e-6));
  change_latency(network, inside, times(3), true, flag);
  CHECK(network.nccl->node.latency == 3);
  CHECK(*network.node->alpha == Approx(2e-6));
  change_latency(network, outside, times(2), false, flag);  // another collective
  CHECK(*network.alpha == Approx(20e-6));
  CHECK(network.nccl->network.latency == 2);
  change_latency(network, outside, to(1e-6), true, flag);
  CHECK(*network.alpha == Approx(1e-6));
}

TEST_CASE("nodes and their ports") {
  CHECK(node_workers_of(of_constants()) == 1);
  CHECK(node_workers_of(of_links()) == 1);
  Network network = of_nodes();
  CHECK(node_workers_of(network) == 8);
  change_node(network, 2, flag);
  CHECK(network.node->workers == 2);
  CHECK(error_place([&] { change_node(network, 1, flag); }) == "command line: --flag");
  change_rails(network, 1, flag);
  CHECK(network.node->rails == 1);
  change_rails(network, 2, flag);
  CHECK(error_place([&] { change_rails(network, 3, flag); }) == "command line: --flag");
  Network none = of_constants();  // as nodes of one worker
  change_rails(none, 1, flag);
  CHECK(!none.node);
  CHECK(error_place([&] { change_rails(none, 2, flag); }) == "command line: --flag");
  Network topology = of_links();
  CHECK(error_place([&] { change_rails(topology, 1, flag); }) == "command line: --flag");
  for (Network one : {measured(), of_a_table()}) {
    one.node = network.node;
    CHECK(error_place([&] { change_node(one, 4, flag); }) == "command line: --flag");
    CHECK(error_place([&] { change_rails(one, 1, flag); }) == "command line: --flag");
  }
}
