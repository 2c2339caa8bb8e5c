// ZeRO++ on zero-3: secondary shards, quantised gathers and quantised reductions.
#include <cmath>
#include <numeric>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/priced.hpp"

#include "sim/plans/schedule/needs.hpp"
#include "sim/plans/schedule/quantising.hpp"

using namespace allreplay;

namespace {

// Three layers of a 160 x 200 matrix in fp16 (32,000 elements), F = 1 us, B = 2 us; four workers, two in a node.
Scenario three_matrices() {
  Profile profile;
  profile.name = "by hand";
  profile.precision = "fp16";
  for (LayerId layer = 0; layer < 3; ++layer) {
    profile.layers.push_back({"l" + std::to_string(layer + 1), to_time(1e-6), to_time(2e-6)});
    profile.tensors.push_back({"t" + std::to_string(layer + 1), 32'000, 64'000, layer, {160, 200}});
  }
  Scenario scenario = scenario_of(std::move(profile), "zero-3", 4, 0, 1e-9);
  scenario.cluster.network.node = NodeLevel{.workers = 2, .alpha = 0, .beta = 1e-9};
  ZeroOptions& zero = scenario.options.strategy.zero;
  zero.prefetch_bucket = zero.reduce_bucket = 32'000;
  zero.persistence = zero.max_reuse = 0;
  return scenario;
}

// 32 kB/us among all and between nodes, 128 kB/us in a node. The scales of gathers, 16 B, take no time.
ChannelCost example_price(const Call& call) {
  class Price : public SizePrice {
   public:
    explicit Price(double beta) : beta_(beta) {}
    Cost of(double bytes) const override { return {bytes <= 16 ? 0 : beta_ * bytes, 0}; }
    double least(double bytes) const override { return seconds(bytes); }

   private:
    double beta_;
  };
  const bool in_node = call.group.ranks == 2 && call.group.stride == 1;
  return {CommCost(std::make_shared<const Price>(1e-6 / (in_node ? 128'000 : 32'000))), channel_inside};
}

}  // namespace

TEST_CASE("ZeRO++: the example, plain") {
  const Scenario scenario = three_matrices();
  const Result result = simulate_priced(scenario, example_price);
  CHECK(result.metrics.iteration_s == Approx(20e-6).epsilon(1e-12));
  CHECK(course_of(result, scenario.profile) ==
        "G1 0-2000 F1 2000-3000 G2 2000-4000 F2 4000-5000 G3 4000-6000 F3 6000-7000 G2 6000-8000 G3 8000-10000 "
        "B3 10000-12000 G1 10000-12000 B2 12000-14000 B1 14000-16000 R3 14000-16000 R2 16000-18000 R1 18000-20000");
}

TEST_CASE("ZeRO++: the example with all three") {
  // Gathers among all carry 32,000 B of int8, 1 us; in a node 0.25 us. A gradient takes 16,000 B of int4 and 800 B of
  // scales (4 B for each of 200 columns) in a node, then half of both between nodes: 16,800/128k + 8,400/32k = 0.39375.
  Scenario scenario = three_matrices();
  ZeroOptions& zero = scenario.options.strategy.zero;
  zero.hpz = 2;
  zero.qwz = zero.qgz = true;
  const Result result = simulate_priced(scenario, example_price);
  CHECK(course_of(result, scenario.profile) ==
        "G1 0-1000 F1 1000-2000 G2 1000-2000 F2 2000-3000 G3 2000-3000 F3 3000-4000 G2 3000-3250 G3 4000-4250 "
        "B3 4250-6250 G1 4250-4500 B2 6250-8250 B1 8250-10250 X3 8250-8375 X3 8375-8381 X3 8381-8631 X3 8631-8643 "
        "X2 10250-10375 X2 10375-10381 X2 10381-10631 X2 10631-10643 X1 10643-10768 X1 10768-10775 X1 10775-11025 "
        "X1 11025-11037");
  CHECK(result.metrics.iteration_s == Approx(11.0375e-6).epsilon(1e-12));
  // A shard of 32,000 fp16 elements among two is 32,000 B: all three layers have left theirs after F3.
  CHECK(result.memory.parts.secondary == 3 * 32'000);
}

TEST_CASE("ZeRO++: quantising takes the lane, dequantising the compute stream") {
  // 16 GB/s: a shard of 16,000 B takes 1 us to quantise, a gathered layer of 64,000 B 4 us to dequantise.
  Scenario scenario = three_matrices();
  ZeroOptions& zero = scenario.options.strategy.zero;
  zero.qwz = true;
  zero.quantise = 16e9;
  const Result result = simulate_priced(scenario, example_price);
  const std::string course = course_of(result, scenario.profile);
  CHECK(course.starts_with("q1 0-1000 G1 1000-2000 Q1 2000-6000 q2 2000-3000 G2 3000-4000 F1 6000-7000 Q2 7000-11000"));
  CHECK(result.metrics.codec_s == Approx(6 * 4e-6));
}

TEST_CASE("ZeRO++: the number of scales of a shard") {
  const auto scales = [](std::int64_t elements) -> std::int64_t {
    const auto wire = scales_of_shard(elements);
    return wire ? elements / wire->block : 0;
  };
  CHECK(scales(8000) == 1);
  CHECK(scales(16'000) == 2);
  CHECK(scales(8016) == 2);         // 2 divides 1002
  CHECK(scales(8 * 1009) == 1009);  // 1009 is prime; 2 does not divide it
  CHECK(scales(12'345) == 0);       // no multiple of 8
  for (const std::int64_t elements : {8, 64, 800, 79'992, 4'194'304, 51'380'224}) {  // as the page defines it
    std::int64_t s = (elements + 7999) / 8000;
    while (elements % (8 * s) != 0) ++s;
    while (elements % (16 * s) == 0 && static_cast<double>(elements) / static_cast<double>(s) > 8000) s *= 2;
    CHECK(scales(elements) == (static_cast<double>(elements) / static_cast<double>(s) < 16'000 ? s : 0));
  }
}

namespace {

// A second implementation: the trace of an iteration, played by a clock. Gathers and reductions use separate networks.
struct Reference {
  const Profile& profile;
  const ZeroOptions& zero;
  std::int64_t workers, node, micro_batches;
  double rate;  // bytes per second of quantising; 0: it takes no time

  double now = 0, gather_free = 0, reduce_free = 0;

  // A gather among `ranks` takes 1 ns per byte among all, 0.25 ns in smaller groups; an all-to-all as it says.
  double gather(double elements, std::int64_t ranks) {
    const double beta = ranks == workers ? 1e-9 : 0.25e-9, each = elements / static_cast<double>(ranks);
    double start = std::max(now, gather_free);
    if (!zero.qwz) return gather_free = start + beta * 4 * elements;
    if (rate > 0) start += 4 * each / rate;
    const WireType scales = *scales_of_shard(static_cast<std::int64_t>(each));
    const double bytes = elements + 4 * elements / scales.block;
    return gather_free = start + beta * bytes;
  }
  double reduce(const Tensor& tensor) {
    const auto elements = static_cast<double>(tensor.elements);
    double at = std::max(now, reduce_free);
    const bool in_nodes =
        zero.qgz && workers > node && tensor.shape.size() == 2 && tensor.elements % (2 * workers) == 0;
    if (!in_nodes) return reduce_free = at + 1e-9 * 4 * elements;
    const auto codec = [&](double bytes) { return rate > 0 ? bytes / rate : 0; };
    const double scales = 4.0 * static_cast<double>(std::max({tensor.shape[0], tensor.shape[1], workers}));
    const double part = 1 / static_cast<double>(node);
    at += codec(4 * elements) + 0.25e-9 * (elements / 2 + scales) + codec(4 * elements) + codec(4 * elements * part);
    return reduce_free = at + 1e-9 * part * (elements / 2 + scales) + codec(4 * elements * part);
  }

  double iteration() {
    const std::size_t layers = profile.layers.size();
    struct Arrival {
      double at, elements;
      bool ready;
    };
    std::vector<std::shared_ptr<Arrival>> here(layers);
    std::vector<bool> left(layers, false);
    double reduced = 0;  // what the next compute task waits for
    for (std::int64_t batch = 0; batch < micro_batches; ++batch) {
      for (std::size_t at = 0; at < 2 * layers; ++at) {
        const auto layer_of = [&](std::size_t place) { return place < layers ? place : 2 * layers - 1 - place; };
        const auto fetch = [&](const std::vector<std::size_t>& list) {
          for (const bool second : {true, false}) {
            double elements = 0;
            for (const std::size_t one : list)
              if (left[one] == second) elements += static_cast<double>(profile.tensors[one].elements);
            if (elements == 0) continue;
            const double end = gather(elements, second ? zero.hpz : workers);
            const auto arrival = std::make_shared<Arrival>(Arrival{end, elements, !zero.qwz || rate == 0});
            for (const std::size_t one : list)
              if (left[one] == second) here[one] = arrival;
          }
        };
        const std::size_t layer = layer_of(at);
        if (!here[layer]) fetch({layer});
        std::vector<std::size_t> next;
        std::int64_t taken = 0;
        for (std::size_t ahead = at + 1; ahead < 2 * layers && taken < zero.prefetch_bucket; ++ahead) {
          const std::size_t one = layer_of(ahead);
          if (here[one] || std::find(next.begin(), next.end(), one) != next.end()) continue;
          next.push_back(one);
          taken += profile.tensors[one].elements;
        }
        fetch(next);
        now = std::max({now, here[layer]->at, reduced});
        if (!here[layer]->ready) now += 4 * here[layer]->elements / rate;
        here[layer]->ready = true;
        now += to_seconds(at < layers ? profile.layers[layer].forward : profile.layers[layer].backward);
        if (at > layers) reduced = reduce(profile.tensors[layer + 1]);  // closed by this layer
        if (at < layers && layer + 1 == layers) continue;               // nothing between: max_reuse is 1
        here[layer].reset();
        left[layer] = zero.hpz > 1;
      }
      reduced = reduce(profile.tensors[0]);
    }
    return std::max(now, reduced);
  }
};

}  // namespace

TEST_CASE("ZeRO++ takes the time of a second implementation") {
  Random random(7, 0);
  for (int round = 0; round < 200; ++round) {
    Profile profile;
    profile.name = "random";
    profile.precision = "fp32";
    const std::size_t layers = 1 + random.below(6);
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const auto time = [&] { return to_time(1e-6 * static_cast<double>(random.below(400))); };
      profile.layers.push_back({"l" + std::to_string(layer), time(), time() + Time(1)});
      const auto rows = static_cast<std::int64_t>(64 * (1 + random.below(4))),
                 columns = static_cast<std::int64_t>(8 * (1 + random.below(40)));
      profile.tensors.push_back({"t" + std::to_string(layer), rows * columns, 4 * rows * columns,
                                 static_cast<LayerId>(layer),
                                 random.below(3) == 0 ? std::vector<std::int64_t>{rows * columns}
                                                      : std::vector<std::int64_t>{rows, columns}});
    }
    const std::int64_t node = random.below(2) == 0 ? 2 : 4;
    Scenario scenario = scenario_of(profile, "zero-3", 8, 0, 1e-9);
    scenario.cluster.network.node = NodeLevel{.workers = node, .alpha = 0, .beta = 1e-9};
    ZeroOptions& zero = scenario.options.strategy.zero;
    zero.persistence = 0;
    zero.max_reuse = 1;  // only the last layer is kept
    zero.reduce_bucket = 1;
    zero.overlap_comm = false;
    zero.prefetch_bucket = static_cast<std::int64_t>(random.below(60'000));
    zero.hpz = random.below(2) == 0 ? 1 : node;
    zero.qwz = random.below(2) == 0;
    zero.qgz = random.below(2) == 0;
    if (random.below(2) == 0 && (zero.qwz || zero.qgz)) zero.quantise = 1e9;
    scenario.options.strategy.sharding.accumulate = 1 + static_cast<std::int64_t>(random.below(3));
    bool possible = true;  // every shard of any set of layers can be quantised if its elements are a multiple of 8·8
    const auto price = [&](const Call& call) -> ChannelCost {
      const bool small = call.group.ranks < 8 && call.group.stride == 1;
      return {CommCost(0, small ? 0.25e-9 : 1e-9),
              call.op == CollectiveOp::AllGather ? channel_inside : channel_outside};
    };
    std::optional<Result> result;
    try {
      result = simulate_priced(scenario, price);
    } catch (const InputError&) {
      possible = false;
    }
    if (!possible) continue;
    Reference reference{
        profile, zero, 8, node, scenario.options.strategy.sharding.accumulate, zero.quantise.value_or(0)};
    INFO("round " << round);
    REQUIRE(result->metrics.iteration_s == Approx(reference.iteration()).margin(1e-10));
  }
}

TEST_CASE("ZeRO++: without secondary shards and quantising it is zero-3") {
  Random random(8, 0);
  for (int round = 0; round < 30; ++round) {
    Scenario scenario = scenario_of(random_profile(random, 8), "zero-3", 4, 1e-6, 1e-9);
    scenario.options.strategy.zero.prefetch_bucket = 100'000;
    const Plan plain = plan_of(scenario);
    scenario.options.set("hpz", "1", {});
    scenario.options.set("qwz", "false", {});
    const Plan same = plan_of(scenario);
    CHECK(same.transfers == plain.transfers);
    CHECK(same.gates == plain.gates);
    CHECK(same.groups == plain.groups);
  }
}

TEST_CASE("ZeRO++: plans that break a need are refused") {
  Scenario scenario = three_matrices();
  ZeroOptions& zero = scenario.options.strategy.zero;
  zero.hpz = 2;
  zero.qwz = zero.qgz = true;
  const Plan plan = plan_of(scenario);
  REQUIRE(!find_plan_error(plan, scenario.profile));
  const auto complaint = [&](const auto& spoil) {
    Plan spoilt = plan;
    spoil(spoilt);
    const auto wrong = find_plan_error(spoilt, scenario.profile);
    return wrong ? wrong->what : "";
  };
  const auto index = [&](const auto& is) {
    return static_cast<std::uint32_t>(std::find_if(plan.transfers.begin(), plan.transfers.end(), is) -
                                      plan.transfers.begin());
  };
  // The first gather may not read secondary shards.
  CHECK(complaint([](Plan& one) {
          one.transfers[0].payload.kind = one.transfers[1].payload.kind = Payload::Kind::Secondary;
        }) == "transfer 0 (all-gather of t1) reads secondary shards, which a first pass has not yet left");
  const std::uint32_t between = index([](const Transfer& one) {
    return one.op == CollectiveOp::AllToAll && one.group == group_nodes && !one.payload.wire.only_scales();
  });
  // Each gate of the chain of all-to-alls is needed, as is each of a quantised gather, if not also lanes keep the
  // order.
  int refused = 0;
  for (std::size_t gate = 0; gate < plan.gates.size(); ++gate) {
    const auto *before = plan.gates[gate].transfer_before(), *after = plan.gates[gate].transfer_after();
    if (!before || !after) continue;
    const std::string wrong = complaint([&](Plan& one) {
      one.transfers[after->index].lane = static_cast<std::uint32_t>(one.lanes.size());
      one.lanes.push_back({.name = "another"});
      one.gates.erase(one.gates.begin() + static_cast<std::ptrdiff_t>(gate));
    });
    CHECK(wrong != "");
    ++refused;
  }
  CHECK(refused == 6 + 3 * 3);  // scales after values in six gathers; three gates in each chain of four
  CHECK(complaint([&](Plan& one) { one.transfers[between].op = CollectiveOp::Broadcast; }) != "");
}

TEST_CASE("ZeRO++: settings that cannot be") {
  const auto place = [](Scenario scenario) -> std::string {
    try {
      simulate(scenario);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  Scenario scenario = three_matrices();
  scenario.options.set("hpz", "3", {});
  CHECK(place(scenario).find("groups of 3 do not divide 4 workers") != std::string::npos);
  scenario = three_matrices();
  scenario.workers = 12;
  scenario.cluster.network.node->workers = 4;
  scenario.options.set("hpz", "3", {});
  CHECK(place(scenario).find("groups of 3 do not divide nodes of 4 workers") != std::string::npos);
  scenario = three_matrices();
  scenario.options.set("quantise", "10 GB/s", {});
  CHECK(place(scenario).find("nothing is quantised") != std::string::npos);
  scenario = three_matrices();
  scenario.profile.own().tensors[1].elements = 32'004;  // a shard of 8001
  scenario.options.set("qwz", "true", {});
  CHECK(place(scenario).find("DeepSpeed cannot quantise a shard of 8001 elements of t2") != std::string::npos);
}
