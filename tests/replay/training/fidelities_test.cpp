// The three fidelities under whole iterations.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/replay/training/job.hpp"

using namespace allreplay;

namespace {

Scenario on_star(Random& random, std::string_view strategy, std::int64_t workers) {
  Scenario scenario = scenario_of(random_profile(random, 8), strategy, workers, 20e-6, 0);
  scenario.cluster.network.beta.reset();
  scenario.cluster.network.topology = read_topology(
      Json::parse(R"({"kind": "star", "link": {"latency": "2 us", "bandwidth": "10 Gbit/s"}})", "topology"));
  return scenario;
}

double iteration(Scenario scenario, const char* fidelity) {
  scenario.fidelity = fidelity;
  return simulate(scenario).metrics.iteration_s;
}

}  // namespace

TEST_CASE("on an idle star the fidelities give the same iteration, with stragglers and fusion") {
  // Blocks are sent one at a time (window one block), so collectives never share the network: equal to a picosecond per
  // round.
  Random random(51, 0);
  for (int round = 0; round < 20; ++round)
    for (const auto* strategy : {"wfbp", "optimal-merge", "ddp", "horovod", "us-byte", "p3", "dear"})
      for (const auto* collective : {"ring", "halving-doubling", "parameter-server"}) {
        Scenario scenario = on_star(random, strategy, 8);
        scenario.collective = collective;
        if (round % 2 == 1) scenario.stragglers.slow = {{3, 1.3}};
        const double closed = iteration(scenario, "alpha-beta"),
                     blocks = 2 * static_cast<double>(scenario.profile->bytes() / 100'000 + 30);
        INFO(strategy << " " << collective);
        REQUIRE(iteration(scenario, "fluid") == Approx(closed).margin(14e-12 * blocks));
        REQUIRE(iteration(scenario, "message") == Approx(closed).margin(14e-12 * blocks));
      }
}

TEST_CASE("collectives of groups go among as many workers as the scenario shares its state out to") {
  Random random(53, 0);
  Scenario scenario = on_star(random, "fsdp2", 8);
  scenario.options.strategy.sharding.shard_group = 2;
  scenario.collective = "ring";
  scenario.fidelity = "fluid";
  const Plan plan = plan_of(scenario);
  const Job job = prepared_for(plan, job_of(scenario));
  // Each of two sends half of 10 MB at 1.25 GB/s, 4 ms; a message starts up in 20 us, and 2 us on each of two
  // links. Replicas are four, and reduce a half each: in 2·3 messages of an eighth, 1 ms.
  const Fabric& fabric = *job.fabric;
  CHECK(to_seconds(fabric.alone(10'000'000, {CollectiveOp::AllGather, consecutive(2)})) == Approx(4e-3 + 24e-6));
  CHECK(to_seconds(fabric.alone(5'000'000, {CollectiveOp::AllReduce, equal_place_group(2)})) ==
        Approx(6 * (1e-3 + 24e-6)));
}

TEST_CASE("rings that share links take in fluid at most as many times as long as in message as is said") {
  // On nodes with a port for each GPU there is a ring for each port. What is said is 1 for anything but such rings.
  double most = 1;
  for (const int rails : {1, 2, 4, 8})
    for (const std::int64_t nodes : {2, 4})
      for (const int inside : {30, 100, 400})
        for (const std::string collective : {"ring", "halving-doubling"}) {
          const auto job_with = [&](const char* fidelity) {
            Scenario scenario = scenario_of({}, "wfbp", 8 * nodes, 0, 0);
            scenario.cluster = read_cluster(Json::parse(
                fmt::format(R"({{"name": "c", "workers": {}, "network": {{"alpha": "5 us", "bandwidth": "25 GB/s",
                                "rails": {}, "node": {{"workers": 8, "alpha": "1 us", "bandwidth": "{} GB/s"}}}}}})",
                            8 * nodes, rails, inside),
                "c.json"));
            scenario.operation = CollectiveOp::AllReduce;
            scenario.collective = collective;
            scenario.fidelity = fidelity;
            return job_of(scenario);
          };
          const Job fluid = job_with("fluid"), message = job_with("message");
          for (const Bytes bytes : {Bytes(1), Bytes(1) << 10, Bytes(1) << 16, Bytes(1) << 22, Bytes(1) << 30}) {
            const Call call = CollectiveOp::AllReduce;
            const double times = to_seconds(fluid.fabric->alone(bytes, call)) /
                                 to_seconds(message.fabric->alone(bytes, call)),
                         said = fluid.rounds->rings_above_message(bytes, call);
            INFO(collective << ", " << rails << " ports, " << nodes << " nodes, " << inside << " GB/s, " << bytes
                            << " B: " << times);
            if (rails == 1 || collective != "ring") CHECK(said == 1);
            CHECK(said >= Approx(1));
            if (rails > 1) CHECK(times <= Approx(said));
            most = std::max(most, times);
          }
        }
  CHECK(most > 1.1);  // so that what is said matters
}

TEST_CASE("reusing the price of a lone collective changes nothing") {
  Random random(52, 0);
  for (const auto* strategy : {"wfbp", "bytescheduler", "dear"})
    for (const auto* fidelity : {"fluid", "message"}) {
      Scenario scenario = on_star(random, strategy, 6);
      scenario.fidelity = fidelity;
      const Result reused = simulate(scenario);
      scenario.reuse = false;
      const Result simulated = simulate(scenario);
      REQUIRE(reused.metrics.iteration_s == simulated.metrics.iteration_s);
      REQUIRE(reused.metrics.comm_busy_s == simulated.metrics.comm_busy_s);
    }
}
