// Effects on real clusters: launches, interference, parameter servers (docs/models.md), derived by hand.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/inputs/cluster/cluster.hpp"

using namespace allreplay;

namespace {

constexpr double micro = 1e-6;

// `layers` of 1 MB each, F = 1 ms and B = 2 ms.
Profile layers_of_a_megabyte(LayerId layers) {
  Profile profile;
  for (LayerId layer = 0; layer < layers; ++layer) {
    profile.layers.push_back({fmt::format("l{}", layer), to_time(1e-3), to_time(2e-3)});
    profile.tensors.push_back({fmt::format("t{}", layer), 250'000, 1'000'000, layer});
  }
  return profile;
}

// T(M) = 1 ms + 1 ns/B · M: 2 ms for a megabyte.
Scenario measured(LayerId layers, std::string_view strategy) {
  Scenario scenario = scenario_of(layers_of_a_megabyte(layers), strategy, 8, 0, 0);
  scenario.cluster.network.measured = MeasuredCost{"ring", 8, 1e-3, 1e-9, 0, {}};
  return scenario;
}

double iteration(const Scenario& scenario) { return simulate(scenario).metrics.iteration_s; }

}  // namespace

TEST_CASE("each collective is launched, and launches hide behind bytes only if several may be in flight") {
  Scenario scenario = measured(2, "wfbp");
  scenario.options.launch = to_time(500 * micro);
  // B2 ends at 2, B1 at 4; the blocks take 2.5 each, one at a time: 4.5 and 7; F 2: 9.
  CHECK(iteration(scenario) == Approx(9e-3));
  // Four slices of 0.5 MB in flight: 1 + 0.5 ms and 0.5 of launch each. Out's are admitted at 2, launched by 2.5 and 3:
  // there at 4 and 4.5. In's are admitted at 4, launched by 4.5 and 5: there at 6 and 6.5. F 2: 8.5.
  scenario.strategy = &find_strategy("bytescheduler", {});
  scenario.options.strategy.partition = 500'000;
  CHECK(iteration(scenario) == Approx(8.5e-3));
  // The lower bound has one launch: B 4 + F 2 + the first layer's 2 ms + 0.5.
  scenario.strategy = &find_strategy("wfbp", {});
  CHECK(*simulate(scenario).metrics.lower_bound_s == Approx(8.5e-3));
}

TEST_CASE("interference slows compute while a transfer is in flight, from the end of its launch") {
  Scenario scenario = measured(2, "wfbp");
  scenario.cluster.interference = Interference{.compute = 2};
  // Block 2 is in flight from 2 to 4: of B1 one of its 2 ms passes by 4, the rest by 5; block 1 from 5 to 7; F by 9.
  const Metrics metrics = simulate(scenario).metrics;
  CHECK(metrics.iteration_s == Approx(9e-3));
  CHECK(metrics.exposed_comm_s == Approx(3e-3));  // the slow-down is the network's
  CHECK(metrics.backward_s == Approx(4e-3));
  CHECK(*metrics.lower_bound_s <= 8e-3);  // unslowed
  // Launched from 2 to 2.5, in flight to 4.5: B1 does 0.5, then 1 at half speed, and the last 0.5 by 5.
  scenario.options.launch = to_time(500 * micro);
  CHECK(iteration(scenario) == Approx(9.5e-3));
}

TEST_CASE("interference in proportion to the rate of the bytes") {
  Scenario scenario = measured(2, "wfbp");
  // Bytes move at 1 GB/s, after a millisecond of start-up: from 3 to 4 at 1 + 1 · 1/at.
  scenario.cluster.interference = Interference{.compute = 2, .at = 1e9};
  CHECK(iteration(scenario) == Approx(8.5e-3));  // B1 to 4.5: 1 and 0.5 of it by 4
  scenario.cluster.interference->at = 0.5e9;     // three times as long: 1 and 1/3 by 4, the other 2/3 by 4 + 2/3
  CHECK(iteration(scenario) == Approx((4 + 2. / 3 + 4) * 1e-3));
  scenario.cluster.interference->at = 2e9;  // 1.5 times: 1 and 2/3 by 4
  CHECK(iteration(scenario) == Approx((4 + 1. / 3 + 4) * 1e-3));
}

TEST_CASE("interference depends on the bytes on the wire: those of a shard, and of parameters") {
  // Two layers of 8 MB of gradients, 4 MB of parameters; F and B 4 ms each. In groups of two at 1 ns/B a reduction of
  // 8 MB takes 4 ms and a gather of 4 MB takes 2, both at 2 GB/s; an all-reduce of a shard, 4 MB among two groups,
  // takes 4 ms, at 1 GB/s.
  Profile profile;
  for (LayerId layer = 0; layer < 2; ++layer) {
    profile.layers.push_back({fmt::format("l{}", layer), to_time(4e-3), to_time(4e-3)});
    profile.tensors.push_back({fmt::format("t{}", layer), 2'000'000, 8'000'000, layer});
  }
  profile.parameter_bytes = 2;
  Scenario scenario = scenario_of(profile, "wfbp", 2, 0, 1e-9);
  scenario.cluster.interference = Interference{.compute = 2, .at = 2e9};
  scenario.options.strategy.sharding.zero = 1;
  scenario.options.strategy.barrier = Barrier::Layer;
  // B2 to 4. R2 from 4 to 8: B1 does 2 of its 4 ms by 8, and ends at 10; R1 to 14. G1 to 16, then G2 to 18: F1 does 1
  // of its 4 ms by 18, and ends at 21; F2 25.
  CHECK(iteration(scenario) == Approx(25e-3));
  // 4 workers: A2 from 8 to 12, at half the rate: B1 does the other 2 ms in 3, and ends at 11. R1 from 12 to 16, A1 to
  // 20, G1 to 22, G2 to 24: F1 does 1 by 24, and ends at 27; F2 31.
  scenario.workers = scenario.cluster.workers = 4;
  scenario.options.strategy.sharding.shard_group = 2;
  CHECK(iteration(scenario) == Approx(31e-3));
}

TEST_CASE("in fluid bytes move round by round, and slow at the rate of their rounds") {
  // A ring of two on links of 1 GB/s: two rounds of 0.5 ms of start-up and 0.5 ms of bytes; while these move, a block
  // of 1 MB passes in 1 ms: at 1 GB/s.
  Scenario scenario = scenario_of(layers_of_a_megabyte(2), "wfbp", 2, 0.5e-3, 0);
  scenario.cluster.network.topology =
      read_topology(Json::parse(R"({"kind": "star", "link": {"latency": "0 us", "bandwidth": "1 GB/s"}})", "topology"));
  scenario.fidelity = "fluid";
  CHECK(iteration(scenario) == Approx(8e-3));  // B2 2, B1 to 4, its block to 6, F 2
  scenario.cluster.interference = Interference{.compute = 2, .at = 1e9};
  // Block 2 starts up from 2 to 2.5, moves to 3, starts up to 3.5, moves to 4. Of B1 0.5 is done by 2.5, 0.75 by
  // 3, 1.25 by 3.5, 1.5 by 4, all by 4.5. Then block 1, 2, and F, 2.
  CHECK(iteration(scenario) == Approx(8.5e-3));
  // If B1 is 1.2 ms, 1.25 would be done by 3.5: 1.2 are at 3.45. Were both start-ups first, it would be 3.4. Block 1
  // is ready then, waits for block 2 until 4, and takes 2; F 2.
  scenario.profile.own().layers[0].backward = to_time(1.2e-3);
  const Result result = simulate(scenario);
  const Span& backward = result.episodes.back().timeline.spans[result.unrolled.work(0, 1)];
  CHECK(to_seconds(backward.end - backward.start) == Approx(1.45e-3));
  CHECK(result.metrics.iteration_s == Approx(8e-3));
  scenario.profile.own().layers[0].backward = to_time(2e-3);
  // Three times as long, in proportion: by 2.5 0.5, by 3 1/6 more, by 3.5 0.5, by 4 1/6; the other 2/3 by 4 + 2/3.
  scenario.cluster.interference->at = 0.5e9;
  CHECK(iteration(scenario) == Approx((4 + 2. / 3 + 4) * 1e-3));
  // Two halves of the block in flight together start up together and share the links: 1 GB/s between them, as before.
  // F1 waits for its own layer's, which is the last.
  scenario.strategy = &find_strategy("bytescheduler", {});
  scenario.options.strategy.partition = 500'000;
  CHECK(iteration(scenario) == Approx((4 + 2. / 3 + 4) * 1e-3));
  scenario.fidelity = "message";
  CHECK_THROWS_AS(iteration(scenario), InputError);
}

TEST_CASE("fully overlapped computing takes as long as the slow-down implies") {
  // One worker class, everything in flight all the time except for the last: the same for fair and serial sharing.
  // Layer 2's block of 100 ms covers B1 = 2 ms, which takes 2.6.
  for (const Sharing sharing : {Sharing::Serial, Sharing::Fair}) {
    Scenario scenario = measured(2, "wfbp");
    scenario.cluster.network.measured->a = 100e-3;
    scenario.options.sharing = sharing;
    scenario.cluster.interference = Interference{.compute = 1.3};
    const Result result = simulate(scenario);
    const auto& spans = result.episodes.back().timeline.spans;
    const TaskId backward = result.unrolled.work(0, 1);
    CHECK(to_seconds(spans[backward].end - spans[backward].start) == Approx(2.6e-3));
  }
}

TEST_CASE("the update is slowed, too; a codec on a separate stream is not") {
  Scenario scenario = measured(2, "bytescheduler");
  scenario.options.strategy.partition = 1'000'000;
  scenario.profile.own().update = to_time(2e-3);
  scenario.cluster.interference = Interference{.compute = 2};
  // Block 2 from 2 to 4, B1 to 5, block 1 from 5 to 7. U1 and F1 wait for block 1; nothing is in flight then: 7 to 9,
  // and U2 and F2 to 11.
  CHECK(iteration(scenario) == Approx(11e-3));
}

namespace {

// 2 nodes of 4; inside 0.1 ns/B, a port 1 ns/B; a block of 1 MB, one layer without compute.
Scenario nodes(std::int64_t rails) {
  Profile profile;
  profile.layers = {{"l", Time(0), Time(1)}};
  profile.tensors = {{"t", 250'000, 1'000'000, 0}};
  Scenario scenario = scenario_of(profile, "wfbp", 8, 0, 1e-9);
  scenario.cluster.network.node = NodeLevel{4, 0, 0.1e-9, rails, {}};
  scenario.collective = "parameter-server";
  scenario.options.collective.local = true;
  scenario.options.collective.server_hosts = ServerHosts::Dedicated;
  return scenario;
}

}  // namespace

TEST_CASE("with local sums a node pushes once, each GPU its share") {
  // Inside 3/4 · 0.1 ms = 75 us there and back. Outside max(h/g, n/S): with one port h = 4 and S = n = 2: 1 ms each
  // way.
  CHECK(iteration(nodes(1)) == Approx(2150 * micro));
  Scenario scenario = nodes(1);
  scenario.options.collective.servers = 1;  // its port takes both nodes' pushes
  CHECK(iteration(scenario) == Approx(4150 * micro));
  scenario = nodes(4);  // h = 1: a quarter, with as many servers' ports
  CHECK(iteration(scenario) == Approx(2150 * micro));
  scenario.options.collective.servers = 8;
  CHECK(iteration(scenario) == Approx(650 * micro));
  scenario.cluster.network.gamma = 1e-9;  // of the nodes' sums (n - 1)/S of a block, and inside 3/4
  CHECK(iteration(scenario) == Approx(650 * micro + 125 * micro + 750 * micro));
}

TEST_CASE("a push, a pull and the sums inside have channels of their own; colocated servers share theirs") {
  Scenario scenario = nodes(1);
  scenario.profile.own().tensors.push_back({"u", 250'000, 1'000'000, 0});
  scenario.strategy = &find_strategy("bytescheduler", {});
  scenario.options.strategy.barrier = Barrier::Iteration;
  // First: in 0-75, push 75-1075, pull 1075-2075, out 2075-2150. Second: in 75-150, push 1075-2075, pull 2075-3075,
  // out.
  CHECK(iteration(scenario) == Approx(3150 * micro));
  // On one channel: push 75-1075 and 1075-2075, pull 2075-3075 (asked at 1075, after the second push) and 3075-4075.
  scenario.options.collective.server_hosts = ServerHosts::Colocated;
  CHECK(iteration(scenario) == Approx(4150 * micro));
  // Launches: 100 us each. In 100-175 (launched by 100 and 200), push launched 175-275 to 1275 and by 375 to 2275; …
  scenario.options.collective.server_hosts = ServerHosts::Dedicated;
  scenario.options.launch = to_time(100 * micro);
  // First: in by 175, push launched by 300 (the lane's launcher is busy with the second's sum till 200), to 1300; pull
  // launched by 1400, to 2400; out launched by 2500, to 2575. Second: in by 275, push launched by 400, to 2300; pull
  // launched by 2400, to 3400; out launched by 3500, to 3575.
  CHECK(iteration(scenario) == Approx(3575 * micro));
}

TEST_CASE("servers are refused if their cost is unknown") {
  const auto complaint = [](const Scenario& scenario) { return error_place([&] { simulate(scenario); }); };
  Scenario scenario = nodes(1);
  scenario.options.collective.local = false;
  CHECK(complaint(scenario) == "no place");
  scenario = nodes(1);
  scenario.cluster.network.node.reset();
  CHECK(complaint(scenario) == "no place");
  scenario = nodes(1);
  scenario.workers = 7;
  CHECK(complaint(scenario) == "no place");
  scenario = nodes(1);
  scenario.options.strategy.sharding.zero = 1;
  CHECK(complaint(scenario) == "options: local");
}

TEST_CASE("the events of a network are counted separately from the engine's") {
  Scenario scenario = scenario_of(layers_of_a_megabyte(2), "wfbp", 4, 0.5e-3, 1e-9);
  CHECK(simulate(scenario).metrics.network_events == 0);
  scenario.cluster.network.topology =
      read_topology(Json::parse(R"({"kind": "star", "link": {"latency": "0 us", "bandwidth": "1 GB/s"}})", "topology"));
  scenario.reuse = false;
  // Two blocks of six rounds each, of four messages each, an iteration.
  scenario.fidelity = "fluid";
  const Metrics fluid = simulate(scenario).metrics;
  scenario.fidelity = "message";
  const Metrics message = simulate(scenario).metrics;
  CHECK(fluid.network_events > 0);
  CHECK(fluid.network_events % 12 == 0);
  CHECK(message.network_events == 4 * fluid.network_events);
  CHECK(fluid.events > fluid.network_events);
  // The same without two equal workers: 48 messages an iteration.
  scenario.stragglers.jitter = Jitter{JitterKind::Normal, 0.1, 1};
  const Metrics jittered = simulate(scenario).metrics;
  CHECK(jittered.network_events > 0);
  CHECK(jittered.network_events % 48 == 0);
  CHECK(jittered.events > jittered.network_events);
}
