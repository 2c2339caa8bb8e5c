// Frozen layers: no gradients, no reductions, no optimizer state.
#include <algorithm>
#include <map>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/priced.hpp"

#include "sim/plans/schedule/needs.hpp"

using namespace allreplay;

namespace {

// Three layers of 32,000 elements in fp16, each in 1 us forward. The first two are frozen, if asked for; where nothing
// up to a layer is trained, it has no backward pass; a frozen layer above has only its half that passes gradients on.
Profile three_layers(std::vector<bool> frozen) {
  Profile profile;
  profile.name = "by hand";
  profile.precision = "fp16";
  bool trained = false;  // some layer up to this one
  for (LayerId layer = 0; layer < 3; ++layer) {
    trained = trained || !frozen[layer];
    profile.layers.push_back({"l" + std::to_string(layer + 1), to_time(1e-6),
                              to_time(!trained        ? 0
                                      : frozen[layer] ? 1e-6
                                                      : 2e-6)});
    profile.layers.back().frozen = frozen[layer];
    profile.tensors.push_back({"t" + std::to_string(layer + 1), 32'000, 64'000, layer});
  }
  return profile;
}

// 32 kB/us: a layer takes 2 us.
ChannelCost two_us(const Call&) {
  class Price : public SizePrice {
   public:
    Cost of(double bytes) const override { return {bytes * 1e-6 / 32'000, 0}; }
    double least(double bytes) const override { return seconds(bytes); }
  };
  return {CommCost(std::make_shared<const Price>()), channel_inside};
}

std::string course(const Scenario& scenario) { return course_of(simulate_priced(scenario, two_us), scenario.profile); }

Scenario of_layers(std::vector<bool> frozen, std::string_view strategy) {
  return scenario_of(three_layers(std::move(frozen)), strategy, 4, 0, 1e-9);
}

// The bytes of gradients that are reduced, by tensor.
std::map<TensorId, Bytes> reduced(const Plan& plan) {
  std::map<TensorId, Bytes> bytes;
  for (const Transfer& one : plan.transfers)
    if (one.travels() && is_reduction(one.op) && one.payload.kind == Payload::Kind::Gradients &&
        one.payload.block != Payload::just_bytes && one.group != group_replica)
      for (const Slice& slice : plan.block_of(one).slices) bytes[slice.tensor] += slice.bytes;
  return bytes;
}

}  // namespace

TEST_CASE("frozen layers: only gradients of others are sent") {
  // B3 2, then A3 2; B2 and B1 pass gradients on no more: F1 starts at 4, when A3 has ended.
  CHECK(course(of_layers({true, true, false}, "wfbp")) ==
        "B3 0-2000 A3 2000-4000 F1 4000-5000 F2 5000-6000 F3 6000-7000");
  // The first layer is trained: B3 and B2 take the half that passes gradients on.
  CHECK(course(of_layers({false, true, true}, "wfbp")) ==
        "B3 0-1000 B2 1000-2000 B1 2000-4000 A1 4000-6000 F1 6000-7000 F2 7000-8000 F3 8000-9000");
  for (const Strategy& strategy : strategies()) {
    INFO(strategy.name);
    Scenario scenario = of_layers({true, false, true}, strategy.name);
    if (strategy.local_steps) continue;  // which average parameters
    const Plan plan = plan_of(scenario);
    CHECK(reduced(plan) == std::map<TensorId, Bytes>{{1, 64'000}});
  }
  for (const char* name : {"local-sgd", "diloco"}) {
    const Plan plan = plan_of(of_layers({true, false, true}, name));
    for (const Transfer& one : plan.transfers)
      for (const Slice& slice : plan.block_of(one).slices) CHECK(slice.tensor == 1);
  }
}

TEST_CASE("frozen layers: fsdp2 gathers them if a pass reads them") {
  // Gathers of 2 us; G3 waits for the first unit's copy (prefetch=1), and the third unit stays. The second is gathered
  // again after the forward pass, at 7, and reduced; the first has no backward pass, so it is not.
  Scenario scenario = of_layers({true, false, true}, "fsdp2");
  scenario.options.strategy.fsdp.copy = 0;
  CHECK(course(scenario) ==
        "G1 0-2000 F1 2000-3000 G2 2000-4000 F2 4000-5000 G3 4000-6000 F3 6000-7000 G2 6000-8000 B3 7000-8000 "
        "B2 8000-10000 R2 10000-12000");
  const MemoryUse memory = simulate_priced(scenario, two_us).memory;
  // The trained layer in fp32, the frozen ones in fp16, all in four shards; gradients and two moments of the trained
  // one.
  CHECK(memory.parts.parameters == (4. * 32'000 + 2. * 64'000) / 4);
  CHECK(memory.parts.gradients == 4. * 32'000 / 4);
  CHECK(memory.parts.optimizer == 8. * 32'000 / 4);
  // Never three layers simultaneously: the first is freed after F1 for good.
  CHECK(memory.parts.gathered == 2 * 64'000);
  // Kept after the forward pass: G2 and G3 follow immediately, all three layers are held.
  scenario.options.strategy.fsdp.reshard = Reshard::None;
  CHECK(simulate_priced(scenario, two_us).memory.parts.gathered == 3 * 64'000);
}

TEST_CASE("frozen layers: a mixed unit is reduced in part, or as one flat parameter") {
  const auto of_unit = [](std::string_view strategy) {
    Scenario scenario = of_layers({true, true, false}, strategy);
    for (Layer& layer : scenario.profile.own().layers) layer.group = layer.name == "l1" ? "a" : "b";
    return scenario;
  };
  CHECK(reduced(plan_of(of_unit("fsdp2"))) == std::map<TensorId, Bytes>{{2, 64'000}});
  // FSDP1 with use_orig_params=True: the frozen layer of the unit has a gradient, which is never read.
  for (const char* name : {"fsdp1", "composer"}) {
    const Scenario scenario = of_unit(name);
    CHECK(reduced(plan_of(scenario)) == std::map<TensorId, Bytes>{{1, 64'000}, {2, 64'000}});
    const MemoryUse memory = simulate_priced(scenario, two_us).memory;
    CHECK(memory.parts.gradients == 4. * 64'000 / 4);
    CHECK(memory.parts.optimizer == 8. * 32'000 / 4);
    CHECK(memory.parts.parameters == (4. * 64'000 + 2. * 32'000) / 4);
  }
}

TEST_CASE("frozen layers: zero-3 gathers them, and zero-1 does not") {
  Scenario scenario = of_layers({true, false, true}, "zero-3");
  ZeroOptions& zero = scenario.options.strategy.zero;
  zero.persistence = zero.max_reuse = 0;
  zero.prefetch_bucket = 1;
  // Forward G1 G2 G3; then G3 and G2 again; G1 is not read again. B3 1, B2 2, R2 2.
  std::map<LayerId, int> gathers;
  const Plan plan = plan_of(scenario);
  for (const Transfer& one : plan.transfers)
    if (one.op == CollectiveOp::AllGather)
      for (const Slice& slice : plan.block_of(one).slices) ++gathers[slice.tensor];
  CHECK(gathers == std::map<LayerId, int>{{0, 1}, {1, 2}, {2, 2}});
  for (const char* name : {"zero-1", "zero-2", "megatron"}) {
    const Plan other = plan_of(of_layers({true, false, true}, name));
    for (const Transfer& one : other.transfers)
      for (const Slice& slice : other.block_of(one).slices) CHECK(slice.tensor == 1);
  }
}

TEST_CASE("frozen layers: memory is that of the trained ones") {
  // ddp, fp16: parameters 2 B whole; gradients 2 B and state 12 B of a third.
  const MemoryUse memory = simulate(of_layers({true, true, false}, "ddp")).memory;
  CHECK(memory.parts.parameters == 2. * 96'000);
  CHECK(memory.parts.gradients == 2. * 32'000);
  CHECK(memory.parts.optimizer == 12. * 32'000);
}

TEST_CASE("frozen layers: an update by layers is of the trained ones") {
  Scenario scenario = of_layers({true, false, false}, "bytescheduler");
  scenario.profile.own().update = to_time(4e-6);
  const Result result = simulate(scenario);
  CHECK(result.metrics.update_s == Approx(4e-6).epsilon(1e-12));
  int updates = 0;
  for (const Work& one : result.plan.program()) updates += one.kind == Activity::Update;
  CHECK(updates == 2);
}

TEST_CASE("frozen layers: any plan covers all trained parameters, and plans without one are refused") {
  Random random(53, 6);
  for (int round = 0; round < 40; ++round) {
    Profile profile = random_profile(random, 10);
    for (Layer& layer : profile.layers) layer.frozen = random.below(2) == 0;
    if (profile.elements() == 0) continue;
    for (const Strategy& strategy : strategies()) {
      if (strategy.local_steps) continue;
      INFO(strategy.name << " round " << round);
      Scenario scenario = scenario_of(profile, strategy.name, 4, 1e-6, 1e-10);
      scenario.options.strategy.sharding.accumulate = static_cast<std::int64_t>(1 + random.below(2));
      const Result result = simulate(scenario);
      REQUIRE(!find_plan_error(result.plan, profile));
      const bool flat = strategy.name == "fsdp1" || strategy.name == "composer";
      for (const auto& [tensor, bytes] : reduced(result.plan)) CHECK((flat || !profile.is_frozen(tensor)));
      // Without its last reduction a plan is wrong.
      Plan less = result.plan;
      const auto lost = std::find_if(less.transfers.rbegin(), less.transfers.rend(), [](const Transfer& one) {
        return is_reduction(one.op) && one.payload.kind == Payload::Kind::Gradients;
      });
      REQUIRE(lost != less.transfers.rend());
      lost->payload.block = Payload::just_bytes;
      CHECK(find_plan_error(less, profile));
    }
  }
}

TEST_CASE("frozen layers: a plan may send unneeded gradients") {
  const Plan whole = plan_of(of_layers({false, false, false}, "ddp"));
  CHECK(!find_plan_error(whole, three_layers({true, false, false})));
}

TEST_CASE("frozen layers in pipelines") {
  Random random(53, 7);
  for (int round = 0; round < 10; ++round) {
    Profile profile = random_profile(random, 1);
    profile.layers.clear();
    profile.tensors.clear();
    for (LayerId layer = 0; layer < 8; ++layer) {
      profile.layers.push_back({"l" + std::to_string(layer), to_time(1e-6), to_time(2e-6)});
      profile.layers.back().output_bytes = 1000;
      profile.layers.back().frozen = layer < 4 || random.below(2) == 0;  // the first rank trains nothing
      profile.tensors.push_back({"t" + std::to_string(layer), 1000, 4000, layer});
    }
    profile.layers.back().frozen = false;
    for (const char* strategy : {"wfbp", "ddp", "bytescheduler", "megatron", "fsdp2"}) {
      INFO(strategy << " round " << round);
      Scenario scenario = scenario_of(profile, strategy, 4, 1e-6, 1e-10);
      scenario.options.set("pp", "2", {"command line", "--pp"});
      scenario.options.set("accumulate", "2", {"command line", "--accumulate"});
      const Result result = simulate(scenario);
      for (const auto& [tensor, bytes] : reduced(result.plan)) CHECK(!profile.is_frozen(tensor));
      std::size_t trained = 0;
      for (TensorId tensor = 0; tensor < 8; ++tensor) trained += !profile.is_frozen(tensor);
      CHECK(reduced(result.plan).size() == trained);
    }
  }
}
