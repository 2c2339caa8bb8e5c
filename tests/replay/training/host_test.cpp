// A GPU that waits for its host: floors of blocks, and the host's part of a step.
#include "tests/catch.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/replay/training/job.hpp"

using namespace allreplay;

namespace host_test {

namespace {

constexpr double ms = 1e-3;
Time of_ms(double value) { return to_time(value * ms); }

// Three layers of 1 ms forward and 2 ms backward: a block of two, and one without a group.
Profile block_and_layer() {
  Profile profile;
  profile.name = "three";
  profile.batch_size = 8;
  for (const char* name : {"a", "b", "c"}) {
    profile.layers.push_back({name, of_ms(1), of_ms(2)});
    profile.tensors.push_back({name, 1000, 4000, static_cast<LayerId>(profile.layers.size() - 1)});
  }
  profile.layers[0].group = profile.layers[1].group = "block";
  return profile;
}

double iteration_ms(const Scenario& scenario) { return simulate(scenario).metrics.iteration_s / ms; }

// The durations of a worker's tasks of one kind, in ms, in the order of the program.
std::vector<double> durations(const Result& result, Activity kind) {
  std::vector<double> all;
  for (TaskId id = 0; id < result.unrolled.labels.size(); ++id)
    if (result.unrolled.labels[id].kind == kind && result.unrolled.labels[id].worker_class == 0)
      all.push_back(to_seconds(result.unrolled.graph.tasks()[id].duration) / ms);
  return all;
}

}  // namespace

TEST_CASE("the time that a block lacks is added to the last task of its pass") {
  Profile profile = block_and_layer();
  profile.host = {of_ms(2.5), of_ms(4.5), Time(0)};
  // Forward: a 1, b 1 + (2.5 - 2), c 2.5. Backward: c 2 + (4.5 - 2), b 2, a 2 + (4.5 - 4). Together 4 + 1 + 6 + 3 = 14.
  const Result result = simulate(scenario_of(profile, "wfbp", 1, 1, 1));
  CHECK(durations(result, Activity::Forward) == std::vector{1.0, 1.5, 2.5});
  CHECK(durations(result, Activity::Backward) == std::vector{4.5, 2.0, 2.5});
  CHECK(result.metrics.iteration_s == Approx(14 * ms));
  CHECK(result.metrics.forward_s == Approx(5 * ms));
  CHECK(result.metrics.host_s == Approx(5 * ms));  // 0.5 + 1.5 + 2.5 + 0.5
  CHECK(result.metrics.exposed_comm_s == Approx(0).margin(1e-12));
}

TEST_CASE("a floor below the GPU's time changes nothing, and twice is the same as once") {
  Profile profile = block_and_layer();
  profile.host = {of_ms(1), of_ms(2), Time(0)};
  const Scenario plain = scenario_of(block_and_layer(), "wfbp", 4, 0.1 * ms, 1e-7);
  CHECK(simulate(scenario_of(profile, "wfbp", 4, 0.1 * ms, 1e-7)).metrics.iteration_s ==
        simulate(plain).metrics.iteration_s);
  profile.host = {of_ms(3), of_ms(5), Time(0)};
  const Profile once = with_host_floors(profile), twice = with_host_floors(once);
  for (std::size_t i = 0; i < once.layers.size(); ++i) {
    CHECK(once.layers[i].forward == twice.layers[i].forward);
    CHECK(once.layers[i].backward_wait == twice.layers[i].backward_wait);
    CHECK(without_host_floors(twice).layers[i].backward == profile.layers[i].backward);
  }
}

TEST_CASE("each micro-batch is launched, and a step is once") {
  Profile profile = block_and_layer();
  profile.host = {of_ms(2.5), of_ms(4.5), of_ms(3)};
  Scenario scenario = scenario_of(profile, "wfbp", 1, 1, 1);
  scenario.options.strategy.sharding.accumulate = 4;
  const Result result = simulate(scenario);
  CHECK(result.metrics.iteration_s == Approx((4 * 14 + 3) * ms));
  CHECK(result.metrics.host_s == Approx((4 * 5 + 3) * ms));
  CHECK(result.metrics.host_step_s == Approx(3 * ms));
}

TEST_CASE("the step is a task after the update, which waits for all gradients") {
  // On a ring of two a tensor takes 2 start-ups of 0.5 ms and 4000 B of 0.25 us each: 2 ms. Backward 6 ms; all tensors
  // in one piece: 2·0.5 + 3 = 4 ms, then the update of 1 ms, the step of 3 ms and forward of 3 ms.
  for (const double update : {1.0, 0.0}) {
    Profile profile = block_and_layer();
    profile.update = of_ms(update);
    profile.host.step = of_ms(3);
    const Result result = simulate(scenario_of(profile, "sync-easgd", 2, 0.5 * ms, 0.25e-6));
    CHECK(result.metrics.iteration_s == Approx((6 + 4 + update + 3 + 3) * ms));
    CHECK(durations(result, Activity::HostStep) == std::vector{3.0});
    CHECK(result.metrics.exposed_comm_s == Approx(4 * ms));
    CHECK(has_host_step(result.plan));
    // The plan that was replayed replays to the same time.
    CHECK(simulate(scenario_of(profile, "sync-easgd", 2, 0.5 * ms, 0.25e-6), result.plan).metrics.iteration_s ==
          result.metrics.iteration_s);
  }
}

TEST_CASE("every strategy pays the host's step: at least, if it hides nothing; at most, if it may hide communication") {
  for (const Strategy& strategy : strategies()) {
    Profile profile = block_and_layer();
    profile.update = of_ms(0.5);
    Scenario scenario = scenario_of(profile, strategy.name, 4, 0.1 * ms, 1e-7);
    if (strategy.searched()) continue;
    INFO(strategy.name);
    const double without = iteration_ms(scenario);
    scenario.profile.own().host.step = of_ms(3);
    const double with = iteration_ms(scenario);
    CHECK(with > without);
    CHECK(with <= without + 3 + 1e-6);
    CHECK(with + 1e-6 >= to_seconds(add(profile.forward(), profile.backward())) / ms + 0.5 + 3);
  }
}

TEST_CASE("a slow GPU waits less for a host that is as fast as others") {
  Profile profile = block_and_layer();
  profile.layers.resize(1);
  profile.tensors.resize(1);
  profile.host = {of_ms(3), of_ms(3), of_ms(1)};
  // 1 and 2 ms, twice as slow 2 and 4: floors of 3 and 3 make 3 + 4, not 2·3 + 2·3; and the step of 1 ms.
  Scenario scenario = scenario_of(profile, "wfbp", 2, 0, 0);
  scenario.stragglers.slow = {{0, 2}};
  CHECK(iteration_ms(scenario) == Approx(3 + 4 + 1));
  CHECK(slowest_profile(job_of(scenario).scenario)->forward() == of_ms(3));
  scenario.stragglers = {};
  CHECK(iteration_ms(scenario) == Approx(3 + 3 + 1));
}

TEST_CASE("the floor of a block's backward pass keeps its ratio") {
  Profile profile = block_and_layer();
  set_block_floor(profile, of_ms(1));
  CHECK(profile.host.block_backward == of_ms(2));
  profile.host = {};
  profile.recompute = "full";
  set_block_floor(profile, of_ms(1));
  CHECK(profile.host.block_backward == of_ms(3));
  profile.host = {of_ms(1), of_ms(2.5), Time(0)};
  set_block_floor(profile, of_ms(2));
  CHECK(profile.host.block_backward == of_ms(5));
  set_block_floor(profile, Time(0));
  CHECK(!profile.host.of_blocks());
}

TEST_CASE("in a split backward pass the waiting belongs to the gradients of weights, which end it") {
  Profile profile = block_and_layer();
  profile.host = {Time(0), of_ms(5), Time(0)};
  const std::vector<Time> raw = profile.weight_times(), padded = with_host_floors(profile).weight_times();
  CHECK(padded[0] == raw[0] + of_ms(1));  // of the block's 4 ms, whose first layer ends the pass
  CHECK(padded[1] == raw[1]);
  CHECK(padded[2] == raw[2] + of_ms(3));
}

}  // namespace host_test
