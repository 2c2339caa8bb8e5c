#include "sim/studies/experiment/reasons.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/replay/training/scenario.hpp"

using namespace allreplay;

namespace {

constexpr double ms = 1e-3;

// Layers of 2 ms backward and 1 ms forward: computing 9 ms. Those in `layers` have a tensor of 4000 B.
Profile nine_ms(const std::vector<LayerId>& layers) {
  Profile profile;
  profile.name = "nine";
  for (LayerId layer = 0; layer < 3; ++layer)
    profile.layers.push_back({"l" + std::to_string(layer), to_time(1 * ms), to_time(2 * ms)});
  for (const LayerId layer : layers) profile.tensors.push_back({"t" + std::to_string(layer), 1000, 4000, layer});
  return profile;
}

// On a ring of two: a collective takes two start-ups, and once its bytes. `bytes_ms`: what 4000 B take.
Scenario pair_of(const std::vector<LayerId>& layers, std::string_view strategy, double start_up_ms, double bytes_ms) {
  return scenario_of(nine_ms(layers), strategy, 2, start_up_ms * ms, bytes_ms * ms / 4000);
}

// In ms, by Bound; they make the iteration.
std::vector<double> parts_of(const Scenario& scenario, Bound most) {
  const Outcome outcome = run(scenario);
  const Reasons reasons = reasons_of(outcome);
  CHECK(reasons.most() == most);
  double sum = 0;
  std::vector<double> parts;
  for (const double seconds : reasons.seconds) {
    sum += seconds;
    parts.push_back(std::round(seconds / ms * 1e6) / 1e6);
  }
  CHECK(sum == Approx(outcome.result.metrics.iteration_s));
  CHECK(reasons.exposed() == Approx(outcome.result.metrics.exposed_comm_s + outcome.result.metrics.straggler_s));
  return parts;
}

using Parts = std::vector<double>;  // computing, stragglers, bytes, first layer, start-ups, copies, schedule

}  // namespace

TEST_CASE("the part of start-ups is the time that the same plan would save without them") {
  // 3 ms a tensor, ready at 2, 4 and 6 ms: 2-5, 5-8, 8-11, then three forward layers. Without start-ups 9 ms.
  CHECK(parts_of(pair_of({0, 1, 2}, "wfbp", 1.5, 0), Bound::StartUps) == Parts{9, 0, 0, 0, 5, 0, 0});
  // Two simultaneous ones overlap the next forward pass: 2-5, 4-7, 6-9 and F from 9 on: 12.
  CHECK(parts_of(pair_of({0, 1, 2}, "bytescheduler", 1.5, 0), Bound::StartUps) == Parts{9, 0, 0, 0, 3, 0, 0});
}

TEST_CASE("bytes keep the network busy for longer than computing takes") {
  // 6 ms a tensor: 2-8, 8-14, 14-20, then 3 ms: 23. The bytes take 18, 9 more than computing; 2 ms before the first
  // tensor and 3 behind the last are the schedule's.
  CHECK(parts_of(pair_of({0, 1, 2}, "wfbp", 0, 6), Bound::Traffic) == Parts{9, 0, 9, 0, 0, 0, 5});
}

TEST_CASE("the first layer's block is made last and needed first") {
  // Only it has a tensor: 6-11, then 3 ms: 14. With start-ups of 2 * 1 ms 16.
  CHECK(parts_of(pair_of({0}, "wfbp", 0, 5), Bound::FirstLayer) == Parts{9, 0, 0, 5, 0, 0, 0});
  CHECK(parts_of(pair_of({0}, "wfbp", 1, 5), Bound::FirstLayer) == Parts{9, 0, 0, 5, 2, 0, 0});
}

TEST_CASE("copies count as copies, though the lower bound contains them") {
  // One worker sends nothing. FSDP2 copies each of three units of 4000 B out for each pass, and its gradients in.
  Scenario alone = pair_of({0, 1, 2}, "fsdp2", 0, 0);
  alone.workers = 1;
  alone.options.strategy.fsdp.copy_of_device = 4000 / (0.5 * ms);
  const Metrics m = run(alone).result.metrics;
  REQUIRE(m.copy_s > 1 * ms);
  const std::vector<double> parts = parts_of(alone, Bound::Copies);
  CHECK(parts[0] == 9);
  CHECK(parts[5] == Approx(m.copy_s / ms));
  CHECK(parts[3] + parts[6] == Approx(0).margin(1e-6));
}

TEST_CASE("the part of the schedule is the time that another order could hide") {
  // All of it after the backward pass: 6-9, then 3 ms: 12. No order hides the first layer's 1 ms.
  CHECK(parts_of(pair_of({0, 1, 2}, "s-sgd", 0, 1), Bound::Schedule) == Parts{9, 0, 0, 1, 0, 0, 2});
}

TEST_CASE("the slowest worker is waited for") {
  Scenario scenario = pair_of({0, 1, 2}, "wfbp", 0, 1e-6);
  scenario.stragglers.slow = {{1, 2}};  // 18 ms, and a few picoseconds
  CHECK(parts_of(scenario, Bound::Stragglers)[1] == Approx(9));
}

TEST_CASE("tiny parts count as computing") {
  // Half a thousandth of 9 ms behind the backward pass.
  CHECK(parts_of(pair_of({0}, "wfbp", 0, 0.0045), Bound::Computing)[0] == 9);
  CHECK(parts_of(pair_of({0}, "wfbp", 0, 0.09), Bound::FirstLayer)[3] == Approx(0.09));  // a hundredth
}

TEST_CASE("without any times nothing is exposed") { CHECK(Reasons().most() == Bound::Computing); }

TEST_CASE("one worker only computes") {
  Scenario scenario = pair_of({0, 1, 2}, "wfbp", 1.5, 0);
  scenario.workers = 1;
  CHECK(parts_of(scenario, Bound::Computing)[0] == 9);
}
