// Local SGD and DiLoCo: rounds of several steps.
#include "sim/plans/schedule/local_sgd.hpp"

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/priced.hpp"
#include "tests/replay/training/worked.hpp"

#include "sim/plans/schedule/needs.hpp"

using namespace allreplay;

namespace {

// Three layers of 1000 B that take 3 us each: a step of 9 us.
Profile layers_of_a_step() { return worked::profile_of({{1, 2}, {1, 2}, {1, 2}}); }

Scenario rounds_of(const Profile& profile, std::string_view strategy, std::map<std::string, std::string> options) {
  Scenario scenario = scenario_of(profile, strategy, 2, 0, 1e-9);
  for (const auto& [name, value] : options) scenario.options.set(name, value, {});
  return scenario;
}

// An all-reduce takes `each` us for 1000 B.
Result simulate_at(const Scenario& scenario, double each) {
  return simulate_priced(scenario, [&](const Call&) -> ChannelCost {
    return {CommCost(0, each * 1e-9), channel_inside};
  });
}

double period_of(const Scenario& scenario, double each) { return *simulate_at(scenario, each).metrics.period_s * 1e6; }

std::string in_words(int number) { return std::to_string(number); }

}  // namespace

TEST_CASE("DiLoCo: the example") {
  // Three fragments, an all-reduce of one takes 2 us, six steps, one fragment every two.
  const auto diloco = [](const std::string& delay, const std::string& fragments = "3") {
    return rounds_of(layers_of_a_step(), "diloco", {{"sync_every", "6"}, {"fragments", fragments}, {"delay", delay}});
  };
  // Launched after the first step at 9, 9-11; used at 18, which waits for nothing.
  CHECK(period_of(diloco("1"), 2) == Approx(54));
  CHECK(period_of(diloco("0"), 2) == Approx(60));
  CHECK(period_of(diloco("0", "1"), 2) == Approx(60));
  CHECK(period_of(rounds_of(layers_of_a_step(), "local-sgd", {{"sync_every", "6"}}), 2) == Approx(60));
  // A wide area network of 12 us: 9-21, used at 21.
  CHECK(period_of(diloco("1"), 12) == Approx(63));
  CHECK(period_of(diloco("0"), 12) == Approx(90));
  // DDP after B1: 9 us and three all-reduces of 12 us in each of six steps.
  Scenario ddp = rounds_of(layers_of_a_step(), "s-sgd", {});
  CHECK(6 * simulate_at(ddp, 12).metrics.iteration_s * 1e6 == Approx(270));
  const Result result = simulate_at(diloco("1"), 12);
  CHECK(result.metrics.iteration_s * 1e6 == Approx(10.5));  // the mean of six steps
  CHECK(result.metrics.exposed_comm_s * 1e6 == Approx(1.5));
  CHECK(*result.metrics.lower_bound_s * 1e6 == Approx(9));  // 54 us of steps, 36 us of transfers
}

TEST_CASE("local SGD with rounds of one step takes S-SGD's time with the bytes of parameters") {
  Random random(21, 0);
  for (int round = 0; round < 40; ++round) {
    Profile profile = random_profile(random, 8);
    profile.update = to_time(1e-6 * static_cast<double>(random.below(100)));
    if (round % 2 == 0) profile.parameter_bytes = 2;
    const auto accumulate = in_words(static_cast<int>(1 + random.below(3)));
    const Scenario local = rounds_of(profile, "local-sgd", {{"sync_every", "1"}, {"accumulate", accumulate}});
    const Scenario diloco = rounds_of(profile, "diloco", {{"sync_every", "1"}, {"accumulate", accumulate}});
    Profile sent = profile;
    if (round % 2 == 0) sent = with_element_bytes(profile, 2, 2);
    const Scenario plain = rounds_of(sent, "s-sgd", {{"accumulate", accumulate}});
    const double time = simulate(plain).metrics.iteration_s;
    REQUIRE(simulate(local).metrics.iteration_s == Approx(time).margin(1e-12));
    REQUIRE(simulate(diloco).metrics.iteration_s == Approx(time).margin(1e-12));
  }
}

TEST_CASE("DiLoCo takes the time of a second implementation") {
  // The clock of the compute stream, and that of the lane.
  Random random(22, 0);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t fragments = 1 + static_cast<std::int64_t>(random.below(3)),
                       every = 1 + static_cast<std::int64_t>(random.below(4)), steps = fragments * every,
                       delay = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(every))),
                       micro_batches = 1 + static_cast<std::int64_t>(random.below(2));
    Profile profile = layers_of_a_step();
    profile.update = to_time(1e-6 * static_cast<double>(random.below(4)));
    for (Tensor& tensor : profile.tensors)
      tensor.elements = static_cast<std::int64_t>(1 + random.below(1000)), tensor.bytes = 4 * tensor.elements;
    const double outer = 1e-6 * static_cast<double>(random.below(5)),
                 each = 1e-9 * static_cast<double>(random.below(20));
    Scenario scenario = rounds_of(profile, "diloco",
                                  {{"sync_every", std::to_string(steps)},
                                   {"fragments", std::to_string(fragments)},
                                   {"delay", std::to_string(delay)},
                                   {"accumulate", std::to_string(micro_batches)}});
    scenario.options.strategy.outer.outer_update = to_time(outer);
    const auto bytes = [&](std::int64_t p) {
      double sum = 0;
      for (std::int64_t t = p * 3 / fragments; t < (p + 1) * 3 / fragments; ++t)
        sum += static_cast<double>(profile.tensors[static_cast<std::size_t>(t)].bytes);
      return sum;
    };
    double now = 0, lane = 0;
    std::vector<double> averaged(static_cast<std::size_t>(fragments));
    for (std::int64_t step = 1; step <= steps; ++step) {
      now += static_cast<double>(micro_batches) * 9e-6 + to_seconds(*profile.update);
      if ((step + delay) % every == 0) {
        const std::int64_t p = (step + delay) / every - 1;
        lane = std::max(lane, now) + each * bytes(p);
        averaged[static_cast<std::size_t>(p)] = lane;
      }
      if (step % every != 0) continue;
      const std::int64_t p = step / every - 1;
      now = std::max(now, averaged[static_cast<std::size_t>(p)]) +
            outer * bytes(p) / static_cast<double>(profile.bytes());
    }
    INFO("round " << round);
    REQUIRE(*simulate_at(scenario, each * 1e9).metrics.period_s == Approx(now).margin(1e-11));
  }
}

TEST_CASE("DiLoCo: buckets, quantised averages and memory") {
  // 3000 B in buckets of 1200 B: 1200, 1200 and 600.
  Scenario scenario = rounds_of(layers_of_a_step(), "diloco", {{"sync_every", "2"}, {"bucket", "1200 B"}});
  const Plan plan = plan_of(scenario);
  std::vector<double> sizes;
  for (const Transfer& one : plan.transfers) sizes.push_back(static_cast<double>(one.bytes));
  CHECK(sizes == std::vector<double>{1200, 1200, 600});
  // A byte for each of 250 elements, in an all-to-all and an all-gather of each tensor: 6 x 250 ns.
  scenario.options.set("quantize", "true", {});
  scenario.options.set("bucket", "tensor", {});
  const Result result = simulate_at(scenario, 1);
  CHECK(*result.metrics.period_s * 1e6 == Approx(18 + 1.5));
  // 750 elements: fp32 momentum; pseudo-gradients of everything, and a copy during the outer update.
  CHECK(result.memory.parts.outer == 3000);
  CHECK(result.memory.parts.pseudo_gradients == 3000);
  scenario.options.set("backup", "device", {});
  CHECK(simulate_at(scenario, 1).memory.parts.outer == 6000);
}

TEST_CASE("DiLoCo: every order that breaks a need is refused") {
  const Scenario scenario =
      rounds_of(layers_of_a_step(), "diloco", {{"sync_every", "6"}, {"fragments", "3"}, {"delay", "1"}});
  const Plan plan = plan_of(scenario);
  REQUIRE(!find_plan_error(plan, scenario.profile));
  REQUIRE(!find_iteration_error(plan, scenario.profile));
  CHECK(needs_of(plan.sharding).front().every == 6);
  CHECK(needs_of(plan.sharding).front().staleness == 1);
  for (std::size_t gate = 0; gate < plan.gates.size(); ++gate) {
    Plan spoilt = plan;
    spoilt.gates.erase(spoilt.gates.begin() + static_cast<std::ptrdiff_t>(gate));
    CHECK(find_plan_error(spoilt, scenario.profile));
  }
  // A launch one step earlier averages what is too old.
  Plan stale = plan;
  const auto second = std::find_if(stale.gates.begin(), stale.gates.end(), [](const Gate& one) {
    return one.transfer_after() && one.transfer_after()->index == 1;
  });
  std::get<WorkPoint>(second->before).place -= 7;  // a step, and the outer update before it
  CHECK(find_plan_error(stale, scenario.profile)->what ==
        "step 4: transfer 1 (all-reduce of t2) may start before the update whose result it averages");
  Plan twice = plan;
  twice.blocks[twice.program()[7 * 2].item] = twice.blocks[twice.program().back().item];
  CHECK(find_plan_error(twice, scenario.profile));
  // The first average again, in a lane of its own, with the same gates.
  Plan doubled = plan;
  doubled.lanes.push_back(plan.lanes.front());
  doubled.transfers.push_back(plan.transfers.front());
  doubled.transfers.back().lane = 1;
  const PlanPoint again = transfer(plan.transfers.size());
  for (const Gate& gate : plan.gates) {
    if (gate.transfer_after() && gate.transfer_after()->index == 0) doubled.gates.push_back({gate.before, again});
    if (gate.transfer_before() && gate.transfer_before()->index == 0) doubled.gates.push_back({again, gate.after});
  }
  CHECK(find_plan_error(doubled, scenario.profile)->what == "step 2: byte 0 of 't1' is not averaged, or twice");
}

TEST_CASE("DiLoCo, quantised: what is gathered was summed before") {
  const Scenario scenario = rounds_of(layers_of_a_step(), "diloco", {{"sync_every", "2"}, {"quantize", "true"}});
  const Plan plan = plan_of(scenario);
  REQUIRE(!find_plan_error(plan, scenario.profile));
  // Both of the first tensor, in lanes of their own, so that only the gate between them gives their order.
  Plan unordered = plan;
  unordered.lanes.push_back(plan.lanes.front());
  unordered.transfers[1].lane = 1;
  REQUIRE(!find_plan_error(unordered, scenario.profile));
  // Both end before the outer update, but the all-gather no longer waits for the all-to-all.
  const auto gate_after = [&](std::uint32_t index) {
    return std::find_if(unordered.gates.begin(), unordered.gates.end(), [&](const Gate& one) {
      return one.transfer_before() && one.transfer_before()->index == index;
    });
  };
  REQUIRE(gate_after(0)->transfer_after());
  gate_after(0)->after = gate_after(1)->after;
  CHECK(find_plan_error(unordered, scenario.profile)->what.find("which no transfer before it has summed") !=
        std::string::npos);
  // The all-to-all carries another tensor.
  Plan other = plan;
  other.transfers[0].payload.block = other.transfers[2].payload.block;
  CHECK(find_plan_error(other, scenario.profile));
}

TEST_CASE("impossible rounds") {
  const auto wrong = [](std::map<std::string, std::string> options) -> std::string {
    try {
      simulate(rounds_of(layers_of_a_step(), "diloco", std::move(options)));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const auto has = [&](std::map<std::string, std::string> options, const std::string& text) {
    CHECK(wrong(std::move(options)).find(text) != std::string::npos);
  };
  has({{"sync_every", "6"}, {"fragments", "4"}}, "4 fragments do not divide 6 steps");
  has({{"sync_every", "6"}, {"fragments", "3"}, {"delay", "2"}},
      "a delay of 2 steps, but a fragment is averaged every 2");
  has({{"sync_every", "8"}, {"fragments", "4"}}, "4 fragments of 3 units");
  has({{"replica", "2"}}, "replicas of several workers");
}
