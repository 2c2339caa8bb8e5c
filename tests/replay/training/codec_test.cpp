// Codecs in the replay: where encoding and decoding run, and what they hold up.
#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"
#include "tests/replay/training/tasks.hpp"

#include "sim/plans/schedule/planners.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/studies/search/plan_of.hpp"

using namespace allreplay;

namespace codec_test {

namespace {

constexpr double ms = 1e-3;

// Three layers of 1000 gradients each; forward 1 ms, backward 2 ms a layer.
Profile three_layers() {
  Profile profile;
  profile.name = "three";
  for (LayerId layer = 0; layer < 3; ++layer) {
    profile.layers.push_back({"l" + std::to_string(layer), to_time(1 * ms), to_time(2 * ms)});
    profile.tensors.push_back({"t" + std::to_string(layer), 1000, 4000, layer});
  }
  return profile;
}

// Signs travel as 125 bytes among 2 workers in log 2 · α = α (β = 0); encoding 0.5 ms, decoding 0.1 ms each.
Scenario coded(std::string_view strategy, double alpha) {
  Scenario scenario = scenario_of(three_layers(), strategy, 2, alpha, 0);
  scenario.codec = CodecCosts{"signsgd", &find_codec("signsgd", {}), "", "estimated", "", {0.5 * ms}, {0.05 * ms}};
  return scenario;
}

double iteration_ms(const Scenario& scenario) { return simulate(scenario).metrics.iteration_s / ms; }

}  // namespace

TEST_CASE("a gate from the start of the program does not change an encoded block") {
  // A codec finds works by their kind: the start is not one, whatever their numbers are.
  const Scenario scenario = coded("wfbp", 1 * ms);
  const Plan plan = plan_of(scenario);
  const double iteration = simulate(scenario, plan).metrics.iteration_s;
  for (std::size_t index = 0; index < plan.transfers.size(); ++index) {
    Plan redundant = plan;
    redundant.gates.push_back({start_of_program(), transfer(index)});
    CHECK(simulate(scenario, redundant).metrics.iteration_s == iteration);
  }
}

TEST_CASE("wfbp with a codec, by hand") {
  // B3 0-2, E3 2-2.5, B2 2.5-4.5, E2 4.5-5, B1 5-7, E1 7-7.5; each decoding is 2 payloads · 0.05 = 0.1.
  // α = 1: blocks 2.5-3.5, 5-6, 7.5-8.5; decodings queue on the compute stream: D3 at 4.5 (after B2, and E2 is ready
  // at 4.5, too, but D3 has been since 3.5), so E2 4.6-5.1, B1 5.1-7.1, D2 (since 6.1) 7.1-7.2, E1 7.2-7.7,
  // block 7.7-8.7, D1 8.7-8.8, forward 8.8-11.8.
  Scenario scenario = coded("wfbp", 1 * ms);
  const Metrics metrics = simulate(scenario).metrics;
  CHECK(metrics.iteration_s / ms == Approx(11.8));
  CHECK(metrics.codec_s / ms == Approx(3 * 0.5 + 3 * 0.1));
  CHECK(metrics.exposed_comm_s / ms == Approx(11.8 - 9 - 1.8));
  CHECK_FALSE(metrics.lower_bound_s);
  CHECK(metrics.speedup == Approx(2 * 9 / 11.8));
  // Lumped: E3 2-2.6, B2 -4.6, E2 -5.2, B1 -7.2, E1 -7.8, block -8.8, forward -11.8.
  scenario.options.codec.decode_at = DecodeAt::Encode;
  CHECK(iteration_ms(scenario) == Approx(11.8));
  // On a stream of its own: B1 ends at 6, E1 6-6.5, block -7.5, D1 7.5-7.6, forward -10.6.
  scenario.options.codec.decode_at = DecodeAt::Arrival;
  scenario.options.codec.stream = CodecStream::Side;
  CHECK(iteration_ms(scenario) == Approx(10.6));
  CHECK(simulate(scenario).metrics.codec_s == 0);
  // One worker sends nothing, and codes nothing.
  scenario.workers = 1;
  scenario.codec.reset();
  CHECK(iteration_ms(scenario) == Approx(9));
}

TEST_CASE("a codec delays forward layers only by the blocks that they wait for") {
  // p3: a block per tensor, by layer. Side stream, so that decodings are the only gates: E3 2-2.5, block -3.5, D3 -3.6;
  // E2 4-4.5, block -5.5, D2 -5.6; E1 6-6.5, block -7.5, D1 7.5-7.6; F1 waits for D1 only: 7.6-10.6.
  Scenario scenario = coded("p3", 1 * ms);
  scenario.options.strategy.partition = 200'000;
  scenario.options.codec.stream = CodecStream::Side;
  CHECK(iteration_ms(scenario) == Approx(10.6));
}

TEST_CASE("encoding on a slowed worker is slowed, and all wait for it") {
  // Twice as slow: B3 -4, E3 -5, B2 -9, E2 -10 (D3, ready at 6, first: 9-9.2, so -10.2), B1 -14.2, D2 -14.4, E1 -15.4,
  // block -16.4, D1 -16.6, forward -22.6.
  Scenario scenario = coded("wfbp", 1 * ms);
  scenario.stragglers.slow = {{1, 2.0}};
  CHECK(iteration_ms(scenario) == Approx(22.6));
}

TEST_CASE("a codec without cost and without compression equals no codec") {
  Random random(81, 0);
  for (int round = 0; round < 40; ++round)
    for (const Strategy& strategy : strategies()) {
      if (strategy.name == "best") continue;  // its search has no bound to stop at
      if (strategy.shards()) continue;        // these take no codec
      Scenario scenario = scenario_of(random_profile(random, 8), strategy.name, 4, 20e-6, 1e-9);
      // Half precision of two-byte gradients.
      for (Tensor& tensor : scenario.profile.own().tensors) tensor.bytes = 2 * tensor.elements;
      const Metrics plain = simulate(scenario).metrics;
      scenario.codec = CodecCosts{"fp16", &find_codec("fp16", {}), "", "estimated", "", {}, {}};
      for (const CodecStream stream : {CodecStream::Compute, CodecStream::Side})
        for (const DecodeAt decode_at : {DecodeAt::Arrival, DecodeAt::Encode}) {
          scenario.options.codec.stream = stream;
          scenario.options.codec.decode_at = decode_at;
          const Metrics coded = simulate(scenario).metrics;
          INFO(strategy.name << " round " << round);
          REQUIRE(coded.iteration_s == plain.iteration_s);
          REQUIRE(coded.comm_busy_s == plain.comm_busy_s);
          REQUIRE(coded.codec_s == 0);
        }
    }
}

TEST_CASE("mergecomp's iteration time is its objective") {
  Random random(82, 0);
  for (int round = 0; round < 300; ++round) {
    Scenario scenario = scenario_of(random_profile(random, 8), "mergecomp",
                                    static_cast<std::int64_t>(2 + random.below(7)), 50e-6, 2e-10);
    const Codec& codec = codecs()[random.below(codecs().size())];
    if (codec.name == "gtopk") scenario.workers = 8;
    scenario.codec = CodecCosts{"c", &codec, "", "estimated", "", {100e-6, 1e-10}, {30e-6, 1e-10}};
    scenario.options.strategy.groups = static_cast<std::int64_t>(1 + random.below(4));
    if (random.below(2) == 0) scenario.options.codec.stream = CodecStream::Side;
    if (random.below(3) == 0) scenario.stragglers.slow = {{0, 1.5}};
    const Shared<Profile> slowest = slowest_profile(scenario);
    const Result result = simulate(scenario);
    std::vector<std::size_t> ends;
    for (const Block& block : result.plan.blocks)
      ends.push_back((ends.empty() ? 0 : ends.back()) + block.slices.size());
    const PlanRequest request{slowest, price_of_blocks(job_of(scenario)), scenario.options.strategy};
    REQUIRE(to_time(result.metrics.iteration_s) == mergecomp_objective(request, ends));
  }
}

TEST_CASE("codecs obey causality in every strategy and fidelity") {
  Random random(83, 0);
  for (int round = 0; round < 20; ++round)
    for (const Strategy& strategy : strategies()) {
      if (strategy.shards()) continue;  // these take no codec
      Scenario scenario = scenario_of(random_profile(random, 8), strategy.name, 8, 20e-6, 1e-9);
      const Codec& codec = codecs()[random.below(codecs().size())];
      scenario.codec = CodecCosts{"c", &codec, "", "estimated", "", {10e-6, 1e-10}, {3e-6, 1e-10}};
      scenario.options.codec.density = 0.01;
      if (random.below(2) == 0) scenario.options.codec.stream = CodecStream::Side;
      if (random.below(3) == 0) scenario.stragglers.slow = {{1, 1.3}};
      // Payloads that are gathered whole have no halves, message by message.
      if (random.below(2) == 0 && strategy.name != "dear") {
        scenario.cluster.network.topology = read_topology(
            Json::parse(R"({"kind": "star", "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}})", "topology"));
        scenario.cluster.network.beta.reset();
        scenario.fidelity = random.below(2) == 0 ? "fluid" : "message";
      }
      INFO(strategy.name << " " << codec.name << " round " << round);
      const Result result = simulate(scenario);
      const Tasks u(result);
      const auto& spans = result.episodes.back().timeline.spans;
      for (std::size_t index = 0; index < u.blocks; ++index)
        for (std::size_t c = 0; c < u.classes; ++c) {
          const Span& encode = spans[u.encode(c, index)];
          const Time arrived = spans[u.block(index, u.stages - 1)].end;
          REQUIRE(encode.end <= spans[u.block(index)].start);
          if (u.unrolled.decodes) REQUIRE(arrived <= spans[u.decode(c, index)].start);
          for (const Slice& slice : result.plan.blocks[index].slices) {
            const LayerId layer = scenario.profile->tensors[slice.tensor].layer;
            REQUIRE(spans[u.backward(c, layer)].end <= encode.start);
            REQUIRE((u.unrolled.decodes ? spans[u.decode(c, index)].end : arrived) <= spans[u.forward(c, layer)].start);
          }
        }
    }
}

TEST_CASE("dear sends gathered payloads in one stage, and summed ones in two") {
  Scenario scenario = coded("dear", 1 * ms);
  CHECK(simulate(scenario).metrics.collectives == 1);  // all three tensors are fused
  scenario.codec->codec = &find_codec("fp16", {});
  CHECK(simulate(scenario).metrics.collectives == 2);
}

TEST_CASE("codec times of another device cause a warning") {
  Scenario scenario = coded("wfbp", 1 * ms);
  scenario.profile.own().device = "Tesla K80 (one GK210 die)";
  scenario.codec->device = "Tesla V100";
  CHECK_FALSE(simulate(scenario).warning.empty());
  scenario.profile.own().device = "Tesla V100 (SXM2)";
  CHECK(simulate(scenario).warning.empty());
  scenario.profile.own().device = "";
  CHECK_FALSE(simulate(scenario).warning.empty());
  scenario.options.codec.encode = scenario.options.codec.decode = Time(0);  // nothing of the file is used
  CHECK(simulate(scenario).warning.empty());
}

TEST_CASE("a codec that does not save bytes causes a warning") {
  Scenario scenario = coded("wfbp", 1 * ms);
  scenario.codec = CodecCosts{"fp16", &find_codec("fp16", {}), "", "estimated", "", {}, {}};
  scenario.options.codec.encode = scenario.options.codec.decode = Time(0);
  CHECK(simulate(scenario).warning.empty());                                   // 4 bytes become 2
  for (Tensor& tensor : scenario.profile.own().tensors) tensor.elements *= 2;  // of 2 bytes each: they stay as they are
  CHECK_FALSE(simulate(scenario).warning.empty());
}

TEST_CASE("a codec decides the collective, unless one is given") {
  Scenario scenario = coded("wfbp", 1 * ms);
  CHECK(simulate(scenario).collective == "all-gather");
  scenario.collective = "topk-allgather";
  CHECK(simulate(scenario).collective == "topk-allgather");
  scenario.collective = "ring";
  scenario.place_of_collective = {"command line", "--collective"};
  CHECK(error_place([&] { simulate(scenario); }) == "command line: --collective");
  scenario.codec->codec = &find_codec("gtopk", {});
  scenario.collective.clear();
  scenario.workers = 6;
  CHECK(error_place([&] { simulate(scenario); }) == "no place");
  scenario.codec.reset();
  scenario.collective = "gtopk-tree";
  CHECK(error_place([&] { simulate(scenario); }) == "command line: --collective");
}

}  // namespace codec_test
