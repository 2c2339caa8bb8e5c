// Each addition of docs/dev/adding.md, with the page's own code: its file, its row, its test.
#include <array>
#include <map>
#include <set>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/network/networks.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/output/report/view.hpp"
#include "sim/plans/pipeline/pipeline_plan.hpp"
#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/needs.hpp"
#include "sim/plans/schedule/plan_builder.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/studies/results/row.hpp"
#include "sim/studies/search/plan_of.hpp"

namespace allreplay {
namespace {
#include "docs/examples/chain.cpp"
#include "docs/examples/exposed_share.cpp"
#include "docs/examples/gather.cpp"
#include "docs/examples/lanes_report.cpp"
#include "docs/examples/micro_batches.cpp"
#include "docs/examples/poseidon.cpp"
#include "docs/examples/zero1_by_layer.cpp"

const Strategy zero1_by_layer{.name = "zero1-by-layer",
                              .look = {"ZeRO-1 by layer", 21},
                              .summary = "ZeRO-1 with a bucket for each layer",
                              .plan = plan_zero1_by_layer,
                              .sharded = {1}};

// Layers a (F 1 ms, B 2 ms, 2 MB) and b (F 1 ms, B 3 ms, 2 MB) on two workers; half a ring of two takes 1 ms + M/2 at
// 1 ns/B, so that 2 MB of a shard's gather or reduction take 2 ms. One at a time: the channel is shared.
Scenario two_layers(std::string_view strategy) {
  Profile profile;
  profile.layers = {{"a", to_time(1e-3), to_time(2e-3)}, {"b", to_time(1e-3), to_time(3e-3)}};
  profile.tensors = {{"a.w", 500'000, 2'000'000, 0}, {"b.w", 500'000, 2'000'000, 1}};
  return scenario_of(profile, strategy, 2, 1e-3, 1e-9);
}

}  // namespace
}  // namespace allreplay

using namespace allreplay;

TEST_CASE("a strategy is a function and a row: laws of this strategy") {
  const Strategy poseidon{.name = "poseidon", .summary = "a layer's gradients together", .schedule = schedule_poseidon};
  Random random(91, 0);
  for (int round = 0; round < 50; ++round) {
    Scenario scenario = scenario_of(random_profile(random, 12), "wfbp", 8, 50e-6, 1e-9);
    const double tensor_by_tensor = simulate(scenario).metrics.iteration_s;
    scenario.strategy = &poseidon;
    const Result result = simulate(scenario);
    // As many collectives as layers have tensors, and never slower than one for each tensor: bytes that are ready
    // together save their start-ups by going together (a relative 1e-12: each block's time is rounded once).
    std::set<LayerId> layers;
    for (const Tensor& tensor : scenario.profile->tensors) layers.insert(tensor.layer);
    CHECK(result.metrics.collectives == static_cast<std::int64_t>(layers.size()));
    CHECK(result.metrics.iteration_s <= tensor_by_tensor * (1 + 1e-12) + 1e-9);
    CHECK(result.plan.strategy == "poseidon");
  }
}

TEST_CASE("Poseidon by hand") {
  // Layers a (B 2 ms, 1 MB and 1 MB) and b (B 3 ms, 2 MB) at 1 ms + 1 ns/B on two workers (a ring of two: a = 2·0.5
  // ms). b: 3 to 6 ms. a is ready at 5, travels 6 to 9 ms; tensor by tensor it would be 6 to 10.
  Profile profile;
  profile.layers = {{"a", to_time(1e-3), to_time(2e-3)}, {"b", to_time(1e-3), to_time(3e-3)}};
  for (const auto& [name, layer] : {std::pair("a.w", 0), {"a.b", 0}})
    profile.tensors.push_back({name, 250'000, 1'000'000, static_cast<LayerId>(layer)});
  profile.tensors.push_back({"b.w", 500'000, 2'000'000, 1});
  const Strategy poseidon{.name = "poseidon", .summary = "", .schedule = schedule_poseidon};
  Scenario scenario = scenario_of(profile, "wfbp", 2, 0.5e-3, 1e-9);
  CHECK(simulate(scenario).metrics.iteration_s == Approx(12e-3));
  scenario.strategy = &poseidon;
  CHECK(simulate(scenario).metrics.iteration_s == Approx(11e-3));
}

TEST_CASE("a strategy that shards, by hand") {
  // Gathers: a 0 to 2, b 2 to 4. F_a 2 to 3, F_b, which waits for its gather, 4 to 5. B_b 5 to 8, B_a 8 to 10;
  // reductions: b 8 to 10, a 10 to 12. DeepSpeed gathers both together (1 + 4/2 = 3 ms), and all-reduces both (2 + 4
  // ms) after all gradients are computed: 3 + 2 + 5 + 6.
  CHECK(simulate(two_layers("zero-1")).metrics.iteration_s == Approx(16e-3));
  Scenario scenario = two_layers("zero-1");
  scenario.strategy = &zero1_by_layer;
  CHECK(simulate(scenario).metrics.iteration_s == Approx(12e-3));
}

TEST_CASE("a strategy that shards is a function and a row: laws of all strategies") {
  Random random(92, 0);
  for (int round = 0; round < 50; ++round) {
    Scenario scenario = scenario_of(random_profile(random, 12), "zero-1", 8, 50e-6, 1e-9);
    scenario.options.strategy.sharding.accumulate = 1 + static_cast<std::int64_t>(random.below(3));
    const Result framework = simulate(scenario);
    scenario.strategy = &zero1_by_layer;
    CHECK(is_compatible(scenario));
    CHECK(stage_of(scenario) == 1);
    const Result result = simulate(scenario);
    require_covered(result.plan, scenario.profile);
    // A shard is a shard, however it travels; and no plan is faster than the bound.
    CHECK(result.memory.parts.optimizer == framework.memory.parts.optimizer);
    CHECK(result.metrics.iteration_s >= *result.metrics.lower_bound_s * (1 - 1e-12));
    // It shards among all, as its row says.
    scenario.options.strategy.sharding.shard_group = 4;
    CHECK_FALSE(is_compatible(scenario));
  }
}

TEST_CASE("a collective is rounds, coefficients and a row") {
  for (const Rank n : {2, 3, 8, 33}) {
    // Everybody has every contribution once: a digit each, which no sum carries over.
    std::vector<double> has;
    for (Rank rank = 0; rank < n; ++rank) has.push_back(std::ldexp(1.0, static_cast<int>(rank)));
    const Rounds rounds = rounds_of(chain_row, n, {}, CollectiveOp::AllReduce, {});
    for (const Round& round : rounds.rounds) {
      const std::vector<double> before = has;
      std::vector<Send> sends;
      for (Rank from = 0; from < n; ++from) {
        sends.clear();
        round.sends(from, 0, sends);
        for (const Send& send : sends) has[send.to] = (send.reduce ? before[send.to] : 0) + before[from];
      }
    }
    CHECK(has == std::vector<double>(n, std::ldexp(1.0, static_cast<int>(n)) - 1));

    // The three fidelities on an idle star: a route is two links long, and each round's end is rounded.
    const double alpha = 45.25e-6, latency = 1.3e-6, rate = 1.25e9, gamma = 0.037e-9;
    Network network;
    network.alpha = alpha + 2 * latency;
    network.beta = 1 / rate;
    network.gamma = gamma;
    const auto topology = star(n, link(latency, rate));
    for (const Bytes bytes : {1, 1000, 4'000'000}) {
      const auto closed = static_cast<double>(price(network, chain_row, n, n, {})(bytes).count());
      for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Message}) {
        NetworkSetup setup = allreplay::setup("ring", n, fidelity, alpha, gamma);
        setup.calls = {{CollectiveOp::AllReduce, everybody(), &chain_row}};
        const auto time = static_cast<double>(lay_on(setup, *topology)->alone(bytes, setup.calls[0]).count());
        CHECK(std::abs(time - closed) <= static_cast<double>(rounds.length()));
      }
    }
  }
}

TEST_CASE("an operation is a row, and a collective that carries it out") {
  for (const Rank n : {2, 5, 16}) {
    // Rank 0 has the others' pieces, each from its owner, and the other ranks have nothing else.
    const Rounds rounds = rounds_of(direct_row, n, {}, Gather, {});
    REQUIRE(rounds.rounds.size() == 1);
    for (Rank from = 0; from < n; ++from) {
      std::vector<Send> sends;
      rounds.rounds[0].sends(from, 0, sends);
      REQUIRE(sends.size() == (from > 0 ? 1 : 0));
      if (from > 0) CHECK((sends[0].to == 0 && sends[0].first == from && sends[0].count == 1 && !sends[0].reduce));
    }
    // One start-up, two links, and (N − 1)/N of the bytes through rank 0's port, on channels and on a star.
    const double alpha = 45.25e-6, latency = 1.3e-6, rate = 1.25e9;
    const double closed = alpha + 2 * latency + gather_operation.bus_factor(n) * 4e6 / rate;
    Network network;
    network.alpha = alpha + 2 * latency;
    network.beta = 1 / rate;
    const Call call(Gather, everybody(), &direct_row);
    CHECK(price_call(network, call, n, n, {}).cost.seconds(4'000'000) == Approx(closed));
    const auto topology = star(n, link(latency, rate));
    for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Message}) {
      NetworkSetup setup = allreplay::setup("ring", n, fidelity, alpha);
      setup.calls = {call};
      const Time time = lay_on(setup, *topology)->alone(4'000'000, call);
      CHECK(std::abs(static_cast<double>(time.count()) - closed * 1e12) <= 1);
    }
  }
}

TEST_CASE("an all-to-all is rounds and a row, too, if rounds are priced") {
  // Twice the bytes of the built-in one: what travels is what the row says.
  const auto messages = [](std::int64_t n, const CollectiveOptions&, CollectiveOp, const SourceLocation&) {
    Rounds rounds{.ranks = static_cast<Rank>(n), .pieces = n, .piece_share = 2 / static_cast<double>(n)};
    rounds.rounds.push_back({.sends = [n](Rank from, std::int64_t, std::vector<Send>& out) {
      for (Rank to = 0; to < n; ++to)
        if (to != from) out.push_back({.to = to, .first = to});
    }});
    return rounds;
  };
  const Algorithm row{
      .name = "all-to-all", .coefficients = nullptr, .operation = CollectiveOp::AllToAll, .rounds = messages};
  for (const std::int64_t n : {2, 5, 16}) {
    // One start-up, and 2(N − 1)/N of the bytes through each port; the same in groups of equal place.
    const auto topology = star(2 * n, link(1.3e-6, 1.25e9));
    const double closed =
        45.25e-6 + 2 * 1.3e-6 + 2 * static_cast<double>(n - 1) / static_cast<double>(n) * 4e6 / 1.25e9;
    for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Message}) {
      NetworkSetup setup = allreplay::setup("ring", 2 * n, fidelity, 45.25e-6);
      setup.calls = {{CollectiveOp::AllToAll, equal_place_group(2), &row}};
      const Time time = lay_on(setup, *topology)->alone(4'000'000, setup.calls[0]);
      CHECK(std::abs(static_cast<double>(time.count()) - closed * 1e12) <= 1);
    }
  }
}

TEST_CASE("a strategy that shards is not taken for another in a pipeline") {
  Strategy row = find_strategy("fsdp2", {});
  CHECK(plans_pipelines(row));
  row.name = "another";
  CHECK(!plans_pipelines(row));
}

TEST_CASE("an option is a row") {
  Scenario scenario = two_layers("wfbp");
  micro_batches_row.set(scenario.options, "2", {});
  CHECK(micro_batches_row.get(scenario.options) == "2");
  CHECK(simulate(scenario).plan.sharding.accumulate == 2);
  CHECK(error_place([&] { micro_batches_row.set(scenario.options, "none", {"a.json", "/x"}); }) == "a.json: /x");
}

TEST_CASE("a column is a row") {
  // Forward 2 ms, backward 5 ms, 16 ms in all: 9/16 is exposed.
  const Scenario scenario = two_layers("zero-1");
  const Result result = simulate(scenario);
  const CollectiveChoice choice = collective_of(scenario);
  const Row row{{exposed_share, exposed_share.get({scenario, choice, result})}};
  CHECK(csv_header(std::array{exposed_share.key}) == "exposed_share");
  CHECK(to_csv(row) == "0.5625");
  CHECK(json_of(row).dump() == R"({"exposed_share":0.5625})");
}

TEST_CASE("a report is a table") {
  // As above: the gathers are ready at 0 and take 2 ms each, the second after the first; so do the reductions, where
  // a's is ready as b's ends.
  Scenario scenario = two_layers("zero-1");
  scenario.strategy = &zero1_by_layer;
  CHECK(rendered(lanes_view(), lanes_json(simulate(scenario))) ==
        "lane    transfers  on the wire  waited   took\n"
        "                            MB      ms     ms\n"
        "---------------------------------------------\n"
        "gather          2        4.000   2.000  4.000\n"
        "reduce          2        4.000   0.000  4.000\n");
}
