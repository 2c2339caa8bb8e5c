// Mixtures of experts: gradients of experts in groups of their own, and token exchange that overlaps computing.
// Examples in us.
#include "sim/plans/schedule/experts.hpp"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/plans/schedule/units.hpp"

using namespace allreplay;

namespace {

constexpr double us = 1e-6;

// Blocks of a dense layer and one of experts, of a tensor of 250 elements (1000 B) each.
Profile blocks(std::size_t count, double forward, double backward) {
  Profile profile;
  profile.name = "experts";
  for (LayerId layer = 0; layer < 2 * count; ++layer) {
    const bool expert = layer % 2 == 1;
    profile.layers.push_back({fmt::format("{}{}", expert ? "x" : "a", layer / 2), to_time(forward * us),
                              to_time(backward * us), fmt::format("block{}", layer / 2)});
    profile.layers.back().expert = expert;
    profile.layers.back().output_bytes = 0;
    profile.tensors.push_back({fmt::format("t{}", layer), 250, 1000, layer});
  }
  return profile;
}

Profile with_update(Profile profile, double update) {
  profile.update = to_time(update * us);
  return profile;
}

// Tokens go to experts after each dense layer's pass, and back after the experts'.
Profile with_exchange(Profile profile, Bytes bytes) {
  for (Layer& layer : profile.layers)
    for (const bool backward : {false, true})
      layer.collectives.push_back({CollectiveOp::AllToAll, LayerCollective::Among::Expert, bytes, backward});
  return profile;
}

Scenario of_experts(Profile profile, std::string_view strategy, std::int64_t workers, std::int64_t experts,
                    const std::map<std::string, std::string>& options = {}, double alpha = 0, double beta = 2e-9) {
  Scenario scenario = scenario_of(std::move(profile), strategy, workers, alpha, beta);
  for (const auto& [name, value] : options) scenario.options.set(name, value, {"command line", name});
  scenario.options.parallel.ep = scenario.options.strategy.sharding.experts = experts;
  if (!scenario.profile->has_experts()) scenario.options.strategy.sharding.experts = 1;
  return scenario;
}

double iteration_us(const Scenario& scenario) { return simulate(scenario).metrics.iteration_s / us; }

bool is_near(double value, double expected) { return std::abs(value - expected) < 1e-6; }

}  // namespace

// All-reduces of 1000 B on a ring with 2 ns/B: 2·(n − 1)/n · 2 us = 3 among 4 workers, 2 among 2. Backward passes of 1:
// the experts' gradient is ready at 1, the dense one at 2.
TEST_CASE("experts are reduced among the workers that hold the same ones") {
  // E = 2: experts 1-3; on the same network the dense ones 3-6; two forward passes until 8.
  CHECK(is_near(iteration_us(of_experts(blocks(1, 1, 1), "wfbp", 4, 2)), 8));
  // E = 4: nothing of experts is sent; dense 2-5, forward until 7.
  CHECK(is_near(iteration_us(of_experts(blocks(1, 1, 1), "wfbp", 4, 4)), 7));
  // s-sgd: both are ready at 2; dense before experts, 2-5-7; forward until 9.
  CHECK(is_near(iteration_us(of_experts(blocks(1, 1, 1), "s-sgd", 4, 2)), 9));
  // Start-ups do not share the network: α = 1, β = 0: 6 among 4, 2 among 2. Experts 1-3, dense 2-8, forward until 10.
  CHECK(is_near(iteration_us(of_experts(blocks(1, 1, 1), "wfbp", 4, 2, {}, 1e-6, 0)), 10));
}

TEST_CASE("a sharded update is dense/R + experts/(R/E), and so is the state") {
  // U = 8 for 500 elements: 4/4 of the dense ones and 4/2 of the experts.
  const Scenario scenario = of_experts(with_update(blocks(1, 1, 1), 8), "megatron", 4, 2);
  const Result result = simulate(scenario);
  CHECK(is_near(result.metrics.update_s / us, 3));
  CHECK(is_near(result.memory.parts.optimizer, 8. * (250. / 4 + 250. / 2)));
  CHECK(is_near(result.memory.parts.parameters, 2000));
  const Result sharded = simulate(of_experts(blocks(1, 1, 1), "fsdp2", 4, 2));
  CHECK(is_near(sharded.memory.parts.parameters, 4. * (250. / 4 + 250. / 2)));
  // An update that is not sharded is whole.
  CHECK(is_near(simulate(of_experts(with_update(blocks(1, 1, 1), 8), "ddp", 4, 2)).metrics.update_s / us, 8));
}

TEST_CASE("fsdp2's units are cut at the borders of experts") {
  Profile profile = blocks(2, 1, 1);
  profile.layers.insert(profile.layers.begin() + 2, Layer{"combine", Time(1), Time(1), "block0"});
  for (Tensor& tensor : profile.tensors) tensor.layer += tensor.layer >= 2 ? 1 : 0;
  const std::vector<Unit> units = cut_at_experts(units_of(profile, {}), profile);
  REQUIRE(units == std::vector<Unit>{{0, 0}, {1, 2}, {3, 3}, {4, 4}});  // the combine stays with the experts before it
}

TEST_CASE("no block holds both kinds, and every group is the tensors' own") {
  for (const char* strategy : {"s-sgd", "wfbp", "ddp", "megatron", "fsdp2"})
    for (const char* pp : {"1", "2"}) {
      INFO(strategy << " pp " << pp);
      const Scenario scenario = of_experts(blocks(4, 1, 2), strategy, 8, 2, {{"pp", pp}, {"accumulate", "4"}});
      const Plan plan = plan_of(scenario);
      double dense = 0, experts = 0;
      for (const Transfer& one : plan.transfers) {
        if (one.payload.block == Payload::just_bytes) continue;
        for (const Slice& slice : plan.block_of(one).slices)
          CHECK(scenario.profile->is_expert(slice.tensor) == plan.is_among_experts(one));
        if (one.payload.kind == Payload::Kind::Gradients && is_reduction(one.op))
          (plan.is_among_experts(one) ? experts : dense) += one.bytes;
      }
      // Every gradient is reduced once per micro-batch that reduces.
      CHECK(dense == experts);
      CHECK(std::fmod(dense, 4000) == 0);
    }
}

TEST_CASE("with one expert group everything is as without experts, to the last bit") {
  for (const char* strategy : {"s-sgd", "wfbp", "ddp", "megatron", "fsdp2", "bytescheduler", "mg-wfbp"})
    for (const char* pp : {"1", "2"}) {
      const Profile with = with_update(blocks(4, 1, 2), 8);
      Profile without = with;
      for (Layer& layer : without.layers) layer.expert = false;
      const std::map<std::string, std::string> options{{"pp", pp}, {"accumulate", "4"}};
      const Result a = simulate(of_experts(with, strategy, 8, 1, options, 1e-6)),
                   b = simulate(of_experts(without, strategy, 8, 1, options, 1e-6));
      CHECK(a.metrics.iteration_s == b.metrics.iteration_s);
      CHECK(a.metrics.lower_bound_s == b.metrics.lower_bound_s);
      CHECK(a.memory.peak == b.memory.peak);
      CHECK(a.plan.transfers == b.plan.transfers);
    }
}

// Two blocks of 10 and 20 per layer on each of two ranks, an exchange of 10 after every pass of a layer: a forward
// chain of a block takes 2·(10 + 10) = 40, a backward chain 2·(20 + 10) = 60.
TEST_CASE("no pair ends later than its longer chain plus the computing and sending of the other") {
  for (const char* schedule : {"interleaved", "dualpipe-v"}) {
    Profile profile = with_exchange(blocks(4, 10, 20), 10000);
    profile.tensors.clear();
    const std::map<std::string, std::string> options{{"pp", "2"}, {"accumulate", "4"}, {"schedule", schedule}};
    std::map<std::string, std::string> overlap = options;
    overlap["ep_overlap"] = "true";
    const Scenario scenario = of_experts(profile, "wfbp", 4, 2, overlap);
    const Result result = simulate(scenario);
    const Unrolled& unrolled = result.unrolled;
    const std::vector<Span>& spans = result.episodes.back().timeline.spans;
    REQUIRE(unrolled.exchange_of.size() > 0);
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      for (const WorkPair& pair : result.plan.roles[rank].pairs) {
        const auto end = [&](std::uint32_t place) { return spans[unrolled.end_of(unrolled.work(rank, place))].end; };
        Time ready{0}, sum{0};  // both chains can start; everything one after another
        for (const std::uint32_t first : {pair.forward, pair.backward})
          ready = std::max(ready, spans[unrolled.work(rank, first)].ready);
        for (std::uint32_t place = pair.forward; place < pair.end; ++place)
          sum += unrolled.nominal[unrolled.work(rank, place)] + Time(10'000'000);
        const Time both = std::max(end(pair.backward - 1), end(pair.end - 1));
        CHECK(both <= ready + sum);
        CHECK(both - ready >= to_time(60 * us));  // the longer chain by itself
      }
    // Computing is never faster than without exchange, and exchange never hides more than all of itself.
    CHECK(result.metrics.iteration_s >= *result.metrics.lower_bound_s);
    CHECK(result.parallel->exposed_ep_s <= result.parallel->stages[0].exchange_s + 1e-12);
  }
}

TEST_CASE("plans that do not reduce experts, or have nothing to overlap, are refused with the remedy") {
  const auto refused = [](const Scenario& scenario, const std::string& word) {
    try {
      simulate(scenario);
    } catch (const InputError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(word) != std::string::npos);
      return;
    }
    FAIL_CHECK("accepted: " << word);
  };
  for (const char* strategy : {"bytescheduler", "mg-wfbp", "horovod", "fsdp1", "zero-3", "dear", "best"})
    refused(of_experts(blocks(2, 1, 1), strategy, 4, 2), strategy);
  refused(of_experts(blocks(2, 1, 1), "wfbp", 4, 2, {{"zero", "1"}}), "ep 2");
  refused(of_experts(blocks(2, 1, 1), "fsdp2", 4, 2, {{"shard_group", "2"}}), "shard_group");
  refused(of_experts(blocks(2, 1, 1), "wfbp", 4, 3), "ep 3");
  const std::map<std::string, std::string> overlap{{"ep_overlap", "true"}, {"pp", "2"}, {"accumulate", "4"}};
  refused(of_experts(blocks(2, 1, 1), "wfbp", 4, 2, overlap), "ep_overlap");
  std::map<std::string, std::string> interleaved = overlap;
  interleaved["schedule"] = "interleaved";
  CHECK_NOTHROW(simulate(of_experts(blocks(4, 1, 1), "wfbp", 4, 2, interleaved)));
  refused(of_experts(blocks(4, 1, 1), "wfbp", 4, 1, interleaved), "ep_overlap");
  interleaved["pp"] = "1";
  refused(of_experts(blocks(4, 1, 1), "wfbp", 4, 2, interleaved), "ep_overlap");
}
