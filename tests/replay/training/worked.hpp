// Iterations worked out by hand, in microseconds.
#pragma once

#include <map>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/plan_words.hpp"
#include "tests/replay/training/scenario.hpp"

namespace worked {

using namespace allreplay;

inline constexpr double microsecond = 1e-6;

struct Times {
  double forward, backward;
};

// Layers with a tensor of 250 elements, 1000 B, each. On a ring of two without start-ups, 2 ns/B, an all-reduce of it
// takes 2 us, a reduce-scatter or an all-gather 1 us.
inline Profile profile_of(const std::vector<Times>& layers, double update = 0) {
  Profile profile;
  profile.name = "by hand";
  for (LayerId layer = 0; layer < layers.size(); ++layer) {
    profile.layers.push_back({"l" + std::to_string(layer + 1), to_time(layers[layer].forward * microsecond),
                              to_time(layers[layer].backward * microsecond)});
    profile.tensors.push_back({"t" + std::to_string(layer + 1), 250, 1000, layer});
  }
  if (update > 0) profile.update = to_time(update * microsecond);
  return profile;
}

// Two workers, or as many as there are.
inline Scenario on_ring(Profile profile, std::string_view strategy, std::int64_t workers = 2) {
  return scenario_of(std::move(profile), strategy, workers, 0, 2e-9);
}

// When each task of the first worker and each transfer begins and ends: "G1 0-1 F1 1-2 …", by starts.
inline std::string course(const Scenario& scenario, const Result& result) {
  const PlanWords words(result.plan, scenario.profile);
  const Episode& episode = result.episodes.back();
  std::multimap<Time, std::string> lines;
  const auto add = [&](const std::string& name, TaskId id) {
    const Span& span = episode.timeline.spans[id];
    const auto in_us = [](Time time) { return fmt::format("{:g}", static_cast<double>(time.count()) / 1e6); };
    REQUIRE(span.start.count() % 250'000 == 0);
    if (span.start != span.end) lines.emplace(span.start, name + " " + in_us(span.start) + "-" + in_us(span.end));
  };
  for (std::size_t i = 0; i < words.works().size(); ++i) add(words.works()[i], result.unrolled.work(0, i));
  for (std::size_t i = 0; i < words.transfers().size(); ++i) add(words.transfers()[i], result.unrolled.transfer(i));
  std::string text;
  for (const auto& line : lines) text += (text.empty() ? "" : " ") + line.second;
  return text;
}

struct Expected {
  double iteration, exposed;  // us
  std::string course;
};

inline Result check(const Scenario& scenario, const Expected& expected) {
  Result result = simulate(scenario);
  CHECK(course(scenario, result) == expected.course);
  CHECK(result.metrics.iteration_s / microsecond == Approx(expected.iteration));
  CHECK(result.metrics.exposed_comm_s / microsecond == Approx(expected.exposed).margin(1e-9));
  return result;
}

}  // namespace worked
