// Muon: Newton-Schulz after the update, in four ways to share the matrices.
#include "sim/plans/schedule/muon.hpp"

#include <numeric>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/priced.hpp"

#include "sim/plans/schedule/needs.hpp"

using namespace allreplay;

namespace {

// Matrices of 250 fp32 elements, 1000 B, in layers that take no time, with the times of their Newton-Schulz in us.
Profile matrices_of(const std::vector<double>& us) {
  Profile profile;
  profile.name = "by hand";
  profile.precision = "fp32";
  for (LayerId layer = 0; layer < us.size(); ++layer) {
    profile.layers.push_back({"l" + std::to_string(layer + 1), Time(0), Time(0), "block." + std::to_string(layer)});
    profile.tensors.push_back(
        {"t" + std::to_string(layer + 1), 250, 1000, layer, {10, 25}, 1, to_time(us[layer] * 1e-6)});
  }
  return profile;
}

Scenario with_muon(Profile profile, std::string_view strategy, std::int64_t workers, const std::string& spread) {
  Scenario scenario = scenario_of(std::move(profile), strategy, workers, 0, 1e-9);
  scenario.options.set("optimizer", "muon", {});
  if (!spread.empty()) scenario.options.set("muon", spread, {});
  return scenario;
}

// 1 us for 1000 B of anything that Muon sends; the plan's own gathers and reductions take no time.
Result simulate_example(const Scenario& scenario) {
  // The own transfers have the same calls as Muon's, but the example has none: they carry nothing.
  Job job = job_of(scenario);
  Plan plan = plan_of(job);
  for (Transfer& one : plan.transfers)
    if (one.payload.kind != Payload::Kind::Matrices) one.bytes = 0;
  std::vector<Call> calls = calls_of(plan);
  for (Call& call : calls) call.group = call.group.of(scenario.workers);
  const ChannelCosts costs(calls.size(), {CommCost(0, 1e-9), channel_inside});
  job.fabric = std::make_shared<AlphaBetaFabric>(calls, scenario.workers, costs, Sharing::Serial);
  return simulate(job, plan);
}

}  // namespace

TEST_CASE("Muon: the example in four ways") {
  // Two workers; a takes 4 us, b 2 us; a gather, all-to-all or scatter of 1000 B takes 1 us.
  const Profile profile = matrices_of({4, 2});
  const auto course = [&](const std::string& strategy, const std::string& spread, double us) {
    const Scenario scenario = with_muon(profile, strategy, 2, spread);
    const Result result = simulate_example(scenario);
    CHECK(result.metrics.iteration_s == Approx(us * 1e-6).epsilon(1e-12));
    return course_of(result, profile);
  };
  CHECK(course("ddp", "replicated", 6) == "N1 0-4000 N2 4000-6000");
  CHECK(course("fsdp2", "gathered", 7) == "G1 0-1000 N1 1000-5000 G2 1000-2000 N2 5000-7000");
  // a on rank 0: 0-1 1-5 5-6; b on rank 1, whose gather waits for a's: 1-2 2-4 4-5.
  CHECK(course("fsdp2", "owned", 6) == "g1 0-1000 N1 1000-5000 g2 1000-2000 N2 2000-4000 s2 4000-5000 s1 5000-6000");
  CHECK(course("fsdp2", "all-to-all", 6) == "X1 0-1000 N1 1000-5000 X1 5000-6000");
  CHECK(course("fsdp2", "", 7) == course("fsdp2", "gathered", 7));
  CHECK(course("ddp", "", 6) == "N1 0-4000 N2 4000-6000");
}

TEST_CASE("Muon: rounds of all-to-alls overlap with Newton-Schulz, unless that is switched off") {
  // Three matrices on two ranks: rounds of 2 and 1. The second round brings 500 B to a rank, 0.5 us.
  Scenario scenario = with_muon(matrices_of({4, 2, 3}), "fsdp2", 2, "all-to-all");
  CHECK(course_of(simulate_example(scenario), scenario.profile) ==
        "X1 0-1000 N1 1000-5000 X3 1000-1500 N3 5000-8000 X1 5000-6000 X3 8000-8500");
  scenario.options.set("muon_overlap", "false", {});
  CHECK(course_of(simulate_example(scenario), scenario.profile) ==
        "X1 0-1000 N1 1000-5000 X1 5000-6000 X3 6000-6500 N3 6500-9500 X3 9500-10000");
}

TEST_CASE("Muon: operations of five iterations, and the matrices of blocks") {
  CHECK(operations_of({"", 200, 800, 0, {10, 20}}) == 5 * (4 * 10 * 10 * 20 + 2 * 10 * 10 * 10));
  CHECK(operations_of({"", 200, 800, 0, {20, 10}}) == 5 * (4 * 10 * 10 * 20 + 2 * 10 * 10 * 10));
  // Three matrices of 10 x 20 in one tensor.
  CHECK(operations_of({"", 600, 2400, 0, {30, 20}, 3}) == 3 * 5 * (4 * 10 * 10 * 20 + 2 * 10 * 10 * 10));
  Profile profile;
  profile.layers = {
      {"e", Time(0), Time(1), "embeddings"}, {"a", Time(0), Time(1), "h.0"}, {"b", Time(0), Time(1), "head"}};
  profile.tensors = {
      {"e", 6, 24, 0, {2, 3}}, {"w", 6, 24, 1, {2, 3}}, {"bias", 3, 12, 1, {3}}, {"h", 6, 24, 2, {2, 3}}};
  CHECK(muon_matrices(profile) == std::vector<TensorId>{1});
  for (Layer& layer : profile.layers) layer.group.clear();
  CHECK(muon_matrices(profile) == std::vector<TensorId>{0, 1, 3});
}

TEST_CASE("Muon: Adam updates the other tensors, and matrices have one moment") {
  // Half of the elements are matrices: Adam takes half of the update, shared by two.
  Profile profile = matrices_of({4});
  profile.tensors.push_back({"bias", 250, 1000, 0, {250}});
  profile.update = to_time(8e-6);
  const Scenario scenario = with_muon(profile, "fsdp2", 2, "");
  const Result result = simulate_example(scenario);
  CHECK(result.metrics.update_s == Approx(2e-6 + 4e-6));
  CHECK(*result.metrics.newton_schulz_s == Approx(4e-6));
  CHECK(result.memory.parts.optimizer == (250 * 8 + 250 * 4) / 2);
  CHECK(result.memory.parts.matrices == 1000);  // from its arrival to the end of its Newton-Schulz
}

namespace {

// A second implementation of the update, from 0 on: the time at which it ends. Transfers take 1 ns per byte, one at a
// time; `us`: of each matrix; all have 1000 B.
double reference(const std::vector<double>& us, const std::string& spread, std::int64_t ranks, bool overlap) {
  const std::size_t count = us.size(), group = static_cast<std::size_t>(ranks);
  double lane = 0, stream = 0;
  if (spread == "replicated") return std::accumulate(us.begin(), us.end(), 0.0);
  if (spread == "gathered") {
    double before = 0;  // the end of the Newton-Schulz before the one that computes
    for (const double one : us) {
      lane = std::max(lane, before) + 1;
      before = stream;
      stream = std::max(stream, lane) + one;
    }
    return stream;
  }
  if (spread == "all-to-all") {
    const std::size_t rounds = (count + group - 1) / group;
    const auto take = [&](std::size_t round) {
      return static_cast<double>(std::min(group, count - round * group)) / static_cast<double>(ranks);
    };
    const auto largest = [&](std::size_t round) {
      return *std::max_element(us.begin() + static_cast<std::ptrdiff_t>(round * group),
                               us.begin() + static_cast<std::ptrdiff_t>(std::min(count, (round + 1) * group)));
    };
    double here = lane = take(0);
    for (std::size_t round = 0; round < rounds; ++round) {
      const double start = std::max(stream, here);
      const bool more = round + 1 < rounds;
      if (more && overlap) lane = std::max(lane, start) + take(round + 1), here = lane;
      stream = start + largest(round);
      lane = std::max(lane, stream) + take(round);
      if (more && !overlap) lane += take(round + 1), here = lane;
    }
    return std::max(stream, lane);
  }
  // Owned: all matrices need equally many operations, so ranks take turns. Events by time: the lane serves the first
  // ready.
  struct Step {
    double ready;
    std::size_t order;
    std::size_t rank;
    bool back;
  };
  std::vector<Step> waiting;
  std::vector<std::size_t> next(group);
  for (std::size_t rank = 0; rank < std::min(group, count); ++rank) waiting.push_back({0, 2 * rank, rank, false});
  std::iota(next.begin(), next.end(), 0);
  double end = 0;
  while (!waiting.empty()) {
    const double earliest = std::min_element(waiting.begin(), waiting.end(), [](const Step& a, const Step& b) {
                              return a.ready < b.ready;
                            })->ready;
    lane = std::max(lane, earliest);
    const auto first = std::min_element(waiting.begin(), waiting.end(), [&](const Step& a, const Step& b) {
      return std::pair(a.ready, a.order) < std::pair(b.ready, b.order);
    });
    const Step step = *first;
    waiting.erase(first);
    lane += 1;
    if (!step.back) {
      waiting.push_back({lane + us[next[step.rank]], step.order + 1, step.rank, true});
      continue;
    }
    end = lane;
    next[step.rank] += group;
    if (next[step.rank] < count) waiting.push_back({lane, 2 * next[step.rank], step.rank, false});
  }
  return end;
}

}  // namespace

TEST_CASE("Muon takes the time of a second implementation") {
  Random random(11, 0);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> us(1 + random.below(9));
    for (double& one : us) one = static_cast<double>(random.below(50)) / 8;
    const auto ranks = static_cast<std::int64_t>(2 + random.below(3));
    for (const char* spread : {"replicated", "gathered", "owned", "all-to-all"})
      for (const bool overlap : {true, false}) {
        INFO("round " << round << ' ' << spread << ' ' << overlap);
        const bool whole = std::string(spread) == "replicated";
        Scenario scenario = with_muon(matrices_of(us),
                                      whole            ? "ddp"
                                      : round % 2 == 0 ? "fsdp2"
                                                       : "megatron",
                                      ranks, spread);
        scenario.options.strategy.muon.overlap = overlap;
        REQUIRE(simulate_example(scenario).metrics.iteration_s ==
                Approx(1e-6 * reference(us, spread, ranks, overlap)).margin(1e-11));
      }
  }
}

TEST_CASE("Muon: its plans are covered, and those that break a need are not") {
  for (const char* strategy : {"fsdp2", "megatron", "ddp", "wfbp"})
    for (const char* spread : {"gathered", "owned", "all-to-all"}) {
      Scenario scenario = with_muon(matrices_of({4, 2, 3}), strategy, 2, spread);
      scenario.profile.own().layers.back().backward = Time(1'000'000);
      if (scenario.strategy->schedule) scenario.options.strategy.sharding.zero = 1;
      const Plan plan = plan_of(scenario);
      INFO(strategy << ' ' << spread);
      REQUIRE(!find_iteration_error(plan, scenario.profile));
      REQUIRE(!find_plan_error(plan, scenario.profile));
      const ProgramIndex places(plan.program());
      for (std::size_t gate = 0; gate < plan.gates.size(); ++gate) {
        // Without this gate a matrix may be late, or its update.
        const auto *before = plan.gates[gate].transfer_before(), *after = plan.gates[gate].transfer_after();
        const auto is_matrix = [&](const TransferPoint* one) {
          return one && plan.transfers[one->index].payload.kind == Payload::Kind::Matrices &&
                 plan.transfers[one->index].travels();
        };
        const bool arrival = is_matrix(before) && !after &&
                             plan.program()[plan.gates[gate].work_after()->place].kind == Activity::NewtonSchulz;
        if (!arrival) continue;
        Plan spoilt = plan;
        spoilt.gates.erase(spoilt.gates.begin() + static_cast<std::ptrdiff_t>(gate));
        CHECK(find_plan_error(spoilt, scenario.profile));
      }
    }
}

TEST_CASE("Muon: impossible settings") {
  const auto wrong = [](const Scenario& scenario) -> std::string {
    try {
      simulate(scenario);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const Profile profile = matrices_of({4, 2});
  const auto has = [&](const Scenario& scenario, const std::string& text) {
    CHECK(wrong(scenario).find(text) != std::string::npos);
  };
  has(with_muon(profile, "zero-3", 2, ""), "zero-3 does not support optimizer=muon");
  has(with_muon(profile, "fsdp2", 2, "replicated"), "needs whole gradients");
  has(with_muon(profile, "ddp", 2, "owned"), "every worker has whole gradients");
  has(with_muon(profile, "p3", 2, ""), "does not update layer by layer");
  Scenario scenario = scenario_of(profile, "fsdp2", 2, 0, 1e-9);
  scenario.options.set("muon", "owned", {});
  has(scenario, "no step is Muon's");
  Profile plain = profile;
  for (Tensor& tensor : plain.tensors) tensor.shape = {250};
  has(with_muon(plain, "fsdp2", 2, ""), "have no matrices");
  Profile unknown = profile;
  unknown.tensors[1].muon.reset();
  has(with_muon(unknown, "fsdp2", 2, ""), "'t2' is not known");
}
