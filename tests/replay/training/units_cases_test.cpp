// SimpleFSDP and Megatron-FSDP worked out by hand, in microseconds (docs/sharding.md).
#include "tests/random_profile.hpp"
#include "tests/replay/training/worked.hpp"

using namespace allreplay;
using namespace worked;

namespace {

// Three layers of F = 1 and B = 2, which are units; a gather or a reduction of one takes 1 us.
Scenario three_units(std::string_view strategy, std::int64_t workers = 2, double update = 0) {
  return on_ring(profile_of({{1, 2}, {1, 2}, {1, 2}}, update), strategy, workers);
}

// Four workers in nodes of two, with a port each: groups of two inside the nodes, and a network of their own between
// them, on which an all-reduce of 500 B takes 1 us.
Scenario hybrid(double update) {
  Scenario scenario = three_units("megatron-fsdp", 4, update);
  scenario.cluster.network.node = NodeLevel{2, 0, 2e-9, 2, {}};
  scenario.options.strategy.sharding.shard_group = 2;
  return scenario;
}

}  // namespace

TEST_CASE("simple-fsdp: gathers one ahead, reductions two behind") {
  // G2 goes before the wait for G1, and G3 behind F1. g2 is the first gather of the backward pass: behind F3. g1 is
  // issued behind B3 and R3, so it queues behind R3; B1 waits for R3 and g1.
  const Result result = check(three_units("simple-fsdp"), {11, 2,
                                                           "G1 0-1 F1 1-2 G2 1-2 F2 2-3 G3 2-3 F3 3-4 B3 4-6 G2' 4-5 "
                                                           "B2 6-8 R3 6-7 G1' 7-8 B1 8-10 R2 8-9 R1 10-11"});
  // 750 elements: shards of 1500 + 1500 + 3000. Gathered: units 1 0-2 and 7-10, 2 1-3 and 4-8, 3 2-6; in reduction: 3
  // 4-7, 2 6-9, 1 8-11. Three in all from 4 on.
  CHECK(result.memory.parts.gathered == 2000);
  CHECK(result.memory.parts.in_reduction == 2000);
  CHECK(result.memory.peak == 6000 + 3000);
  CHECK(*result.metrics.lower_bound_s / microsecond == Approx(9));  // eight transfers take 8
}

TEST_CASE("simple-fsdp: a long reduction holds up the unit two below") {
  // Gradients of three times the bytes: R3 6-9 delays g1, and B1, which waits for both.
  Scenario scenario = three_units("simple-fsdp");
  for (Tensor& tensor : scenario.profile.own().tensors) tensor.bytes = 3000;
  scenario.profile.own().parameter_bytes = 4;
  check(scenario, {16, 7,
                   "G1 0-1 F1 1-2 G2 1-2 F2 2-3 G3 2-3 F3 3-4 B3 4-6 G2' 4-5 B2 6-8 R3 6-9 G1' 9-10 B1 10-12 R2 10-13 "
                   "R1 13-16"});
}

TEST_CASE("simple-fsdp in the graph's order: nothing overlaps") {
  Scenario scenario = three_units("simple-fsdp");
  scenario.options.set("reorder", "none", {});
  const Result result = check(scenario, {17, 8,
                                         "G1 0-1 F1 1-2 G2 2-3 F2 3-4 G3 4-5 F3 5-6 B3 6-8 R3 8-9 G2' 9-10 B2 10-12 "
                                         "R2 12-13 G1' 13-14 B1 14-16 R1 16-17"});
  CHECK(result.memory.parts.gathered == 1000);      // 3 stays until 8; 2 is gathered again at 9
  CHECK(result.memory.parts.in_reduction == 1000);  // each ends before the next pass
}

TEST_CASE("simple-fsdp in the graph's order: tensors one by one") {
  // Two tensors of 1 us each in the only layer, which stays.
  Scenario scenario = on_ring(profile_of({{1, 2}}), "simple-fsdp");
  scenario.profile.own().tensors.push_back({"t1b", 250, 1000, 0});
  scenario.options.set("reorder", "none", {});
  const Result result = check(scenario, {7, 4, "G1 0-1 G1' 1-2 F1 2-3 B1 3-5 R1 5-6 R1' 6-7"});
  CHECK(result.memory.parts.gathered == 2000);
  CHECK(result.memory.parts.in_reduction == 2000);  // from the start of B1
}

TEST_CASE("simple-fsdp in the graph's order takes the sum of all that it does") {
  Random random(221, 0);
  for (int round = 0; round < 60; ++round) {
    Scenario scenario = scenario_of(random_profile(random, 8), "simple-fsdp", 4, 20e-6, 1e-9);
    StrategyOptions& options = scenario.options.strategy;
    options.sharding = {.accumulate = static_cast<std::int64_t>(1 + random.below(2)),
                        .shard_group = random.below(2) == 0 ? 2 : 0};
    options.fsdp.reorder = false;
    options.fsdp.reshard = static_cast<Reshard>(random.below(3));
    options.fsdp.separate_lanes = random.below(2) == 0;
    scenario.profile.own().update = to_time(100e-6);
    const Result result = simulate(scenario);
    Time sum(0);
    for (const Span& span : result.episodes.back().timeline.spans) sum += span.end - span.start;
    REQUIRE(result.metrics.iteration_s == to_seconds(sum));
  }
}

TEST_CASE("megatron-fsdp: three units gathered ahead, or one into a second buffer") {
  Scenario scenario = three_units("megatron-fsdp");
  Result result = check(scenario, {12, 3,
                                   "G1 0-1 F1 1-2 G2 1-2 F2 2-3 G3 2-3 F3 3-4 G3' 4-5 B3 5-7 G2' 5-6 G1' 6-7 B2 7-9 "
                                   "R3 7-8 B1 9-11 R2 9-10 R1 11-12"});
  // 3 4-7, 2 5-9, 1 6-11: three from 6 to 7.
  CHECK(result.memory.parts.gathered == 3000);
  scenario.options.set("double_buffer", "true", {});
  result = check(scenario, {12, 3,
                            "G1 0-1 F1 1-2 G2 1-2 F2 2-3 G3 2-3 F3 3-4 G3' 4-5 B3 5-7 G2' 5-6 B2 7-9 R3 7-8 G1' 8-9 "
                            "B1 9-11 R2 9-10 R1 11-12"});
  CHECK(result.memory.parts.gathered == 2000);  // 3 4-7, 2 5-9, 1 8-11
}

TEST_CASE("megatron-fsdp in groups: all-reduces among them, U/2") {
  const Result result = check(hybrid(2), {14, 4,
                                          "G1 0-1 F1 1-2 G2 1-2 F2 2-3 G3 2-3 F3 3-4 G3' 4-5 B3 5-7 G2' 5-6 G1' 6-7 "
                                          "B2 7-9 R3 7-8 A3 8-9 B1 9-11 R2 9-10 A2 10-11 R1 11-12 A1 12-13 U 13-14"});
  CHECK(result.metrics.update_s / microsecond == Approx(1));
  CHECK(result.memory.parts.optimizer == 8 * 750 / 2);
}

TEST_CASE("megatron-fsdp whose groups share the optimizer: shards gathered before and scattered after, U/4") {
  // Half of an all-reduce among groups takes 0.5 us.
  Scenario scenario = hybrid(4);
  scenario.options.set("outer", "optim", {});
  const Result result =
      check(scenario, {14.5, 4.5,
                       "O1 0-0.5 G1 0.5-1.5 O2 0.5-1 O3 1-1.5 F1 1.5-2.5 G2 1.5-2.5 F2 2.5-3.5 G3 2.5-3.5 F3 3.5-4.5 "
                       "O3' 4.5-5 G3' 5-6 O2' 5-5.5 O1' 5.5-6 B3 6-8 G2' 6-7 G1' 7-8 B2 8-10 R3 8-9 S3 9-9.5 B1 10-12 "
                       "R2 10-11 S2 11-11.5 R1 12-13 S1 13-13.5 U 13.5-14.5"});
  CHECK(result.metrics.update_s / microsecond == Approx(1));
  CHECK(result.memory.parts.parameters == 4 * 750 / 2);  // in each group
  CHECK(result.memory.parts.optimizer == 8 * 750 / 4);   // over all
  // Inside nodes nine transfers take 9 us, between them nine take 4.5; computing and the update 10.
  CHECK(*result.metrics.lower_bound_s / microsecond == Approx(10));
  // In the second micro-batch nothing comes from the other groups, and only there something goes to them.
  scenario.options.strategy.sharding.accumulate = 2;
  const Plan twice = plan_of(scenario);
  const PlanWords words(twice, scenario.profile);
  CHECK(words.lane("replicate") == "O1 O2 O3 O3' O2' O1' S3/2 S2/2 S1/2");
  scenario.options.set("sync", "every", {});
  const Plan synchronised = plan_of(scenario);
  const PlanWords every(synchronised, scenario.profile);
  CHECK(every.lane("replicate") == "O1 O2 O3 O3' O2' O1' S3 S2 S1 S3/2 S2/2 S1/2");
}

TEST_CASE("megatron-fsdp: reductions overlap with the next micro-batch, unless each is synchronised") {
  Scenario scenario = on_ring(profile_of({{1, 2}}), "megatron-fsdp");
  scenario.options.strategy.sharding.accumulate = 2;
  scenario.options.set("lanes", "separate", {});
  // R1 starts at 5, too, but G1/2 goes first.
  check(scenario, {11, 5, "G1 0-1 F1 1-2 G1' 2-3 B1 3-5 R1 5-7 G1/2 5-6 F1/2 6-7 G1'/2 7-8 B1/2 8-10 R1/2 10-11"});
  scenario.options.set("sync", "every", {});
  check(scenario, {12, 6, "G1 0-1 F1 1-2 G1' 2-3 B1 3-5 R1 5-6 G1/2 6-7 F1/2 7-8 G1'/2 8-9 B1/2 9-11 R1/2 11-12"});
}

TEST_CASE("megatron-fsdp: embedding and head are not units, and stay until the update") {
  Profile profile = profile_of({{1, 1}, {1, 2}, {1, 2}, {1, 1}});
  const char* names[] = {"embed", "h.0", "h.1", "head"};
  for (LayerId layer = 0; layer < 4; ++layer) profile.layers[layer].group = names[layer];
  // Both blocks are gathered ahead of the embedding, and again ahead of the head's backward pass.
  const Scenario scenario = on_ring(profile, "megatron-fsdp");
  const Result result = check(scenario, {13, 3,
                                         "G1 0-1 F1 1-2 G2 1-2 F2 2-3 G3 2-3 F3 3-4 G4 4-5 F4 5-6 B4 6-7 G3' 6-7 "
                                         "B3 7-9 G2' 7-8 R4 8-9 B2 9-11 R3 9-10 B1 11-12 R2 11-12 R1 12-13"});
  CHECK(result.memory.parts.gathered == 4000);  // all from 7 to 9
  Scenario twice = scenario;
  twice.options.strategy.sharding.accumulate = 2;
  const Plan plan = plan_of(twice);
  CHECK(PlanWords(plan, profile).lane("gather and reduce") ==
        "G1 G2 G3 G4 G3' G2' R4 R3 R2 R1 G2/2 G3/2 G3'/2 G2'/2 R4/2 R3/2 R2/2 R1/2");
}
