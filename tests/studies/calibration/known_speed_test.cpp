// A speed that was measured comes back from the run of the setting in which it was.
#include "sim/studies/calibration/known_speed.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/replay/training/scenario.hpp"

using namespace allreplay;

namespace known_speed_test {

namespace {

constexpr double ms = 1e-3;
constexpr double batch = 8;

// A layer of 1 ms forward and 2 ms backward with a tensor of 4000 B, and an update of 1 ms.
Profile one_layer() {
  Profile profile;
  profile.name = "one";
  profile.batch_size = static_cast<std::int64_t>(batch);
  profile.update = to_time(1 * ms);
  profile.layers.push_back({"l", to_time(1 * ms), to_time(2 * ms)});
  profile.tensors.push_back({"t", 1000, 4000, 0});
  return profile;
}

// On a ring of two an all-reduce takes two start-ups of 0.5 ms and 1 ms for its bytes, T = 2 ms, and nothing hides it:
// with x for the factor an iteration takes K·3x + T + U = 3Kx + 3 ms.
Scenario pair_of(std::string_view strategy = "wfbp") {
  return scenario_of(one_layer(), strategy, 2, 0.5 * ms, 1 * ms / 4000);
}

// The speed of a worker that takes `ms` milliseconds for `count` micro-batches.
KnownSpeed speed(double iteration_ms, double count = 1) {
  return {count * batch / (iteration_ms * ms), 1, "samples/s", {"command line", "--samples-per-second"}};
}

}  // namespace

TEST_CASE("computing takes the rest of the iteration after communication and update") {
  const AtSpeed found = at_speed(pair_of(), speed(9));  // 3x + 3 = 9
  CHECK(found.factor == Approx(2).epsilon(1e-8));
  CHECK(found.outcome.result.metrics.iteration_s == Approx(9 * ms).epsilon(1e-8));
  CHECK(*found.outcome.scenario.profile->update == to_time(1 * ms));
  CHECK(speed_per_gpu(found.outcome.scenario, found.outcome.result.metrics).samples_per_s.value() ==
        Approx(speed(9).value).epsilon(1e-8));
}

TEST_CASE("one worker has only compute and update") {
  CHECK(at_speed(scenario_of(one_layer(), "wfbp", 1, 1, 1), speed(7)).factor == Approx(2).epsilon(1e-8));  // 3x + 1 = 7
}

TEST_CASE("micro-batches are computed one after another, and reduced once") {
  Scenario four = pair_of();
  four.options.strategy.sharding.accumulate = 4;
  CHECK(at_speed(four, speed(27, 4)).factor == Approx(2).epsilon(1e-8));  // 4·3x + 3 = 27
}

TEST_CASE("workers that are all faster than the profile") {
  Scenario fast = pair_of();
  fast.stragglers.slow = {{0, 0.5}, {1, 0.5}};
  CHECK(at_speed(fast, speed(9)).factor == Approx(13.0 / 3).epsilon(1e-8));  // 1.5x + 2 + 0.5 = 9
}

TEST_CASE("speeds that communication makes impossible are refused, with the limit") {
  // 2667 = 8 / 3 ms: of T and U.
  CHECK(error_place([&] { at_speed(pair_of(), speed(2.5)); }) == "command line: --samples-per-second");
  CHECK(error_place([&] { at_speed(scenario_of(one_layer(), "wfbp", 1, 1, 1), speed(0.8)); }) ==
        "command line: --samples-per-second");
  CHECK(at_speed(pair_of(), speed(3.01)).factor == Approx(0.01 / 3).epsilon(1e-5));  // just possible
  CHECK(error_place([&] { at_speed(pair_of(), speed(2e9)); }) == "command line: --samples-per-second");
}

TEST_CASE("if a speed is in a gap, since the plan changes there, the nearest one is used") {
  // Horovod sends at the first millisecond at which the gradient is there: ⌈2x⌉ + T + U + x ms. Up to x = 1 that is
  // at most 6 ms, from there on more than 7: 8 samples take 1333 and 1143 a second. 6.7 ms are 1194 a second.
  Scenario scenario = pair_of("horovod");
  scenario.options.set("cycle", "1 ms", {});
  const AtSpeed nearest = at_speed(scenario, speed(6.7));
  CHECK_FALSE(nearest.note.empty());
  CHECK(nearest.outcome.result.metrics.iteration_s == Approx(7 * ms).epsilon(1e-6));
  CHECK(at_speed(scenario, speed(6.3)).outcome.result.metrics.iteration_s == Approx(6 * ms).epsilon(1e-6));
  const AtSpeed exact = at_speed(scenario, speed(5.9));
  CHECK(exact.factor == Approx(0.9).epsilon(1e-8));
  CHECK(exact.note.empty());
}

TEST_CASE("the known speed is recovered for every strategy") {
  Profile profile;
  profile.name = "three";
  profile.batch_size = 8;
  profile.update = to_time(0.3 * ms);
  for (LayerId layer = 0; layer < 3; ++layer) {
    profile.layers.push_back({"l" + std::to_string(layer), to_time(1.1 * ms), to_time(2.3 * ms)});
    profile.tensors.push_back({"t" + std::to_string(layer), 1000 + 700 * layer, 4 * (1000 + 700 * layer), layer});
  }
  for (const Strategy& strategy : strategies()) {
    INFO(strategy.name);
    const Scenario scenario = scenario_of(profile, strategy.name, 4, 0.02 * ms, 0.2 * ms / 4000);
    Scenario faster = scenario;
    faster.profile = slowed(profile, 0.7);
    faster.profile.own().update = profile.update;
    const double rate = speed_per_gpu(faster, run(faster).result.metrics).samples_per_s.value();
    const AtSpeed found = at_speed(scenario, {rate, 1, "samples/s", {}});
    CHECK(speed_per_gpu(found.outcome.scenario, found.outcome.result.metrics).samples_per_s.value() ==
          Approx(rate).epsilon(1e-6));
  }
}

namespace {

// The given number of samples on one worker: b and 2b ms at the rate of the profile, an update of 1 ms.
MeasuredSetting samples(double count, double iteration_ms) {
  Profile profile = one_layer();
  profile.batch_size = static_cast<std::int64_t>(count);
  profile.layers[0].forward = to_time(count * ms);
  profile.layers[0].backward = to_time(2 * count * ms);
  KnownSpeed known{count / (iteration_ms * ms), 1, "samples/s", {"command line", "--samples-per-second"}};
  known.batch = static_cast<std::int64_t>(count);
  return {scenario_of(profile, "wfbp", 1, 1, 1), known, {LayerStarts{}}};
}

}  // namespace

TEST_CASE("two speeds give the rate and the host's floor") {
  // Twice the profile's times, and floors of 3 and 6 ms: 4 samples take 8 + 16 + 1 ms, one takes 3 + 6 + 1.
  const std::vector<MeasuredSetting> two{samples(1, 10), samples(4, 25)};
  const RateAndFloor found = rate_and_floor(two);
  CHECK(found.factor == Approx(2).epsilon(1e-6));
  CHECK(to_seconds(found.floor) == Approx(3 * ms).epsilon(1e-6));
  for (const double error : found.errors) CHECK(std::abs(error) < 1e-6);
  // Two samples, 4 + 8 + 1 ms, are above the floor, and say the same.
  const std::vector<MeasuredSetting> three{samples(4, 25), samples(1, 10), samples(2, 13)};
  const RateAndFloor again = rate_and_floor(three);
  CHECK(again.factor == Approx(2).epsilon(1e-4));
  CHECK(to_seconds(again.floor) == Approx(3 * ms).epsilon(1e-4));
}

TEST_CASE("if one rate explains all speeds, the host's floor is zero") {
  const std::vector<MeasuredSetting> two{samples(1, 7), samples(4, 25)};  // 2 + 4 + 1 and 8 + 16 + 1
  const RateAndFloor found = rate_and_floor(two);
  CHECK(found.floor == Time(0));
  CHECK(found.factor == Approx(2).epsilon(1e-6));
  // A small batch faster than that: the rate is between, and what remains has both signs.
  const std::vector<MeasuredSetting> faster{samples(1, 6), samples(4, 25)};
  const RateAndFloor between = rate_and_floor(faster);
  CHECK(between.floor == Time(0));
  CHECK(between.factor < 2);
  CHECK(between.errors[0] > 0);
  CHECK(between.errors[1] < 0);
}

TEST_CASE("the starts of kernels and the host's floors are not scaled") {
  // 0.25 and 0.5 ms of a layer's 1 and 2 ms are starts: x(0.75 + 1.5) + 0.75 + 1 = 6.25 has x = 2.
  const std::vector<LayerStarts> starts{{to_time(0.25 * ms), to_time(0.5 * ms), Time(0)}};
  CHECK(at_speed(scenario_of(one_layer(), "wfbp", 1, 1, 1), speed(6.25), starts).factor == Approx(2).epsilon(1e-8));
  // Forward at least 3 ms: 3 + 2x + 1 = 8 has x = 2, at which forward without the floor would take 2 ms.
  Profile waiting = one_layer();
  waiting.host = {to_time(3 * ms), Time(0), Time(0)};
  CHECK(at_speed(scenario_of(waiting, "wfbp", 1, 1, 1), speed(8)).factor == Approx(2).epsilon(1e-8));
}

}  // namespace known_speed_test
