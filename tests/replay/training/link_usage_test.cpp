// The load of each link, derived by hand.
#include "sim/replay/training/link_usage.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/inputs/cluster/make_topology.hpp"

using namespace allreplay;

namespace {

const SourceLocation flag{"command line", "--links"};

// A layer of 4 MB, four workers on a star of 1 GB/s.
Scenario on_a_star() {
  Profile profile;
  profile.name = "one";
  profile.layers = {{"a", to_time(1e-3), to_time(2e-3)}};
  profile.tensors = {{"t", 1'000'000, 4'000'000, 0}};
  Scenario scenario = scenario_of(std::move(profile), "wfbp", 4, 0, 0);
  scenario.cluster.network.topology = read_topology(
      Json::parse(R"({"kind": "star", "link": {"latency": "0 s", "bandwidth": "1 GB/s"}})", "cluster.json"));
  scenario.fidelity = "fluid";
  return scenario;
}

}  // namespace

TEST_CASE("a ring among four sends each link 3/2 of the bytes, each way") {
  // 1 MB in 10 ms: 1.5 MB of the 10 MB that a link can carry.
  const LinkUsage usage = link_usage(on_a_star(), 1'000'000, 10e-3, flag);
  REQUIRE(usage.topology->links().size() == 8);
  CHECK(usage.seconds == 10e-3);
  CHECK(usage.kind_of.size() == 8);
  CHECK(usage.kinds == std::vector<std::string>{"h - s"});
  for (LinkId link = 0; link < 8; ++link) {
    CHECK(usage.bytes(link) == Approx(1.5e6));
    CHECK(usage.utilisation(link) == Approx(0.15));
    CHECK(usage.kind_of[link] == 0);
  }
  CHECK(usage.name(0) == "h0 -> s0");
  CHECK(usage.name(1) == "s0 -> h0");
  // Among equals in the order of their links; each host sends to the next, and hears from the one before.
  const std::vector<HotLink> hot = hottest(usage, 3);
  REQUIRE(hot.size() == 3);
  for (LinkId link = 0; link < 3; ++link) CHECK(hot[link].link == link);
  REQUIRE(hot[0].users.size() == 1);
  CHECK(hot[0].users[0].from == 0);
  CHECK(hot[0].users[0].to == 1);
  CHECK(hot[0].users[0].bytes == Approx(1.5e6));
  REQUIRE(hot[1].users.size() == 1);
  CHECK(hot[1].users[0].from == 3);
  CHECK(hot[1].users[0].to == 0);
  CHECK(hottest(usage, 100).size() == 8);
  // With a server on each worker, a host sends everybody as much: equals in their order.
  Scenario servers = on_a_star();
  servers.collective = "parameter-server";
  const std::vector<HotLink> all = hottest(link_usage(servers, 1'000'000, 10e-3, flag), 1);
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].users.size() == 3);
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(all[0].users[i].to == i + 1);
}

TEST_CASE("the slowest link is the hottest, and one that is down carries nothing") {
  Scenario scenario = on_a_star();
  scenario.cluster.network.topology = read_topology(Json::parse(
      R"({"kind": "star", "link": {"latency": "0 s", "bandwidth": "1 GB/s"},
"links": [{"between": ["h2", "s0"], "bandwidth": "0.5 GB/s"}]})",
      "cluster.json"));
  const LinkUsage usage = link_usage(scenario, 1'000'000, 10e-3, flag);
  const std::vector<HotLink> hot = hottest(usage, 3);
  REQUIRE(hot.size() == 3);
  CHECK(hot[0].link == 4);
  CHECK(usage.utilisation(4) == Approx(0.3));
  CHECK(hot[1].link == 5);
  CHECK(hot[2].link == 0);
  const std::vector<KindUse> kinds = use_by_kind(usage);
  REQUIRE(kinds.size() == 1);
  CHECK(kinds[0].links == 4);
  CHECK(kinds[0].down == 0);
  CHECK(kinds[0].slowest == 0.5e9);
  CHECK(kinds[0].fastest == 1e9);
  CHECK(kinds[0].mean == Approx((6 * 0.15 + 2 * 0.3) / 8));
  CHECK(kinds[0].busiest == Approx(0.3));
  CHECK(kinds[0].bytes == Approx(1.5e6));
  LinkUsage idle = usage;
  idle.sent.clear();
  CHECK(hottest(idle, 3).empty());
  LinkUsage timeless = usage;
  timeless.seconds = 0;
  CHECK(timeless.utilisation(0) == 0);
}

TEST_CASE("a link that is down is counted, and is neither the slowest nor used") {
  const TopologySpec spec = read_topology(Json::parse(
      R"({"kind": "ring", "link": {"latency": "0 s", "bandwidth": "1 GB/s"}, "links": [{"between": ["h1", "h2"], "down": true}]})",
      "cluster.json"));
  const std::vector<KindUse> kinds = use_by_kind(no_usage(make_topology(spec, 4)));
  REQUIRE(kinds.size() == 1);
  CHECK(kinds[0].links == 4);
  CHECK(kinds[0].down == 1);
  CHECK(kinds[0].slowest == 1e9);
  CHECK(kinds[0].fastest == 1e9);
  CHECK(kinds[0].busiest == 0);
}

TEST_CASE("over an iteration all transfers count") {
  const Scenario scenario = on_a_star();
  const Result result = simulate(scenario, plan_of(scenario));
  const LinkUsage usage = link_usage(scenario, result, flag);
  CHECK(usage.seconds == result.metrics.iteration_s);
  CHECK(usage.bytes(0) == Approx(6e6));  // 3/2 of 4 MB
  Scenario closed = scenario;
  closed.fidelity = "alpha-beta";
  closed.cluster.network.beta = 1e-9;
  CHECK(error_place([&] { link_usage(closed, 1'000'000, 10e-3, flag); }) == "command line: --links");
}

TEST_CASE("the collectives of layers count on the links of the workers that hold them") {
  // Two layers, whose forward passes sum 1 and 3 MB over two tensor workers, in two micro-batches. A ring of two sends
  // all that it sums once: 2 and 6 MB.
  Scenario scenario = on_a_star();
  Profile& profile = scenario.profile.own();
  profile.layers = {{"a", to_time(1e-3), to_time(2e-3)}, {"b", to_time(1e-3), to_time(2e-3)}};
  profile.tensors = {{"s", 1'000, 4'000, 0}, {"t", 1'000, 4'000, 1}};
  profile.layers[0].output_bytes = 500'000;
  for (LayerId layer = 0; layer < 2; ++layer)
    profile.layers[layer].collectives = {
        {CollectiveOp::AllReduce, LayerCollective::Among::Tensor, layer == 0 ? 1'000'000 : 3'000'000, false}};
  for (const auto& [name, value] : {std::pair("tp", "2"), {"accumulate", "2"}}) scenario.options.set(name, value, flag);
  scenario.options.strategy.sharding.stride = 2;
  Result result = simulate(scenario, plan_of(scenario));
  // Two replicas: of the 8 kB of gradients, too, a ring of two sends all once.
  CHECK(link_usage(scenario, result, flag).bytes(0) == Approx(2e6 + 6e6 + 8e3));
  // Two ranks of a pipeline in the place of replicas: one layer each, no gradients, and twice half a megabyte between
  // them, forward from 0 to 2, and back. Links 0 and 4 are those up from hosts 0 and 2.
  scenario.options.set("pp", "2", flag);
  result = simulate(scenario, plan_of(scenario));
  const LinkUsage usage = link_usage(scenario, result, flag);
  CHECK(usage.name(4) == "h2 -> s0");
  for (LinkId link = 0; link < 8; ++link) CHECK(usage.bytes(link) == Approx(link < 4 ? 2e6 + 1e6 : 6e6 + 1e6));
  CHECK(usage.seconds == result.metrics.iteration_s);
}

TEST_CASE("kinds of nodes") {
  CHECK(node_kind("h12") == "h");
  CHECK(node_kind("h3.gpu5") == "gpu");
  CHECK(node_kind("s1.7") == "s1");
  CHECK(node_kind("edge") == "edge");
  CHECK(node_kind("17") == "17");
}
