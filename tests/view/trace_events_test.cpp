#include "sim/view/trace_events.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/training/scenario.hpp"

#include "sim/core/json.hpp"
#include "sim/experiment/run.hpp"

using namespace allreplay;

TEST_CASE("a timeline has a process per class, no overlap on a thread, and an arrow to each collective") {
  Random random(41, 0);
  Scenario scenario = scenario_of(random_profile(random, 10), "wfbp", 4, 50e-6, 1e-9);
  scenario.stragglers.slow = {{1, 1.5}};
  const Outcome outcome = run(scenario);
  const Json json = Json::parse(trace_events(outcome), "timeline");
  std::set<std::string> processes;
  std::map<std::pair<double, double>, double> busy_until;  // by thread
  std::size_t collectives = 0, arrows_from = 0, arrows_to = 0;
  std::map<std::pair<double, double>, std::vector<std::pair<double, double>>> slices;
  for (const Json& event : json.at("traceEvents").items()) {
    const std::string phase = event.at("ph").text();
    const std::pair thread(event.at("pid").number(), event.at("tid").number());
    if (event.at("name").text() == "process_name") processes.insert(event.at("args").at("name").text());
    if (phase == "X") slices[thread].emplace_back(event.at("ts").number(), event.at("dur").number());
    if (phase == "X" && event.at("cat").text() == "collective") ++collectives;
    arrows_from += phase == "s" && event.at("name").text() == "ready";
    arrows_to += phase == "f" && event.at("name").text() == "ready";
  }
  CHECK(processes ==
        std::set<std::string>{"3 workers like worker 0", "worker 1 (x1.5 as slow)", "network: ring, 4 workers"});
  const std::size_t blocks = outcome.result.plan.blocks.size() * outcome.result.episodes.size();
  CHECK(collectives == blocks);
  CHECK(arrows_from == blocks);
  CHECK(arrows_to == blocks);
  for (auto& [thread, list] : slices) {
    std::sort(list.begin(), list.end());
    for (std::size_t i = 1; i < list.size(); ++i)
      REQUIRE(list[i].first >= list[i - 1].first + list[i - 1].second - 1e-5);
  }
}

TEST_CASE("a sharded plan has a thread per lane, copies, the update, micro-batches, and memory as a counter") {
  Random random(42, 0);
  Scenario scenario = scenario_of(random_profile(random, 10), "fsdp2", 8, 50e-6, 1e-9);
  scenario.profile.own().update = Time(400'000'000);
  scenario.options.strategy.step = {.accumulate = 2, .shard_group = 4};
  scenario.options.strategy.fsdp.separate_lanes = true;
  scenario.options.strategy.fsdp.copy = 10e9;
  const Outcome outcome = run(scenario);
  const Json json = Json::parse(trace_events(outcome), "timeline");

  using Thread = std::pair<double, double>;
  std::map<Thread, std::string> threads;
  std::map<std::string, double> spent;                   // by category, in microseconds
  std::map<std::string, std::set<std::string>> carried;  // what of each thread of the network
  std::map<Thread, std::vector<std::pair<double, double>>> slices;
  std::set<std::int64_t> batches;
  std::vector<std::pair<double, double>> memory;
  std::map<std::string, std::size_t> arrows;
  for (const Json& event : json.at("traceEvents").items()) {
    const std::string phase = event.at("ph").text(), name = event.at("name").text();
    const Thread thread(event.at("pid").number(), event.at("tid").number());
    if (name == "thread_name") threads[thread] = event.at("args").at("name").text();
    if (phase == "C" && name == "memory")
      memory.emplace_back(event.at("ts").number(), event.at("args").at("bytes").number());
    if (phase != "X") continue;
    const std::string category = event.at("cat").text();
    spent[category] += event.at("dur").number();
    slices[thread].emplace_back(event.at("ts").number(), event.at("ts").number() + event.at("dur").number());
    if (category == "collective") carried[threads[thread]].insert(name.substr(0, name.find(' ')));
    CHECK(event.at("args").find("micro_batch").has_value() == (category != "update"));
    if (const auto batch = event.at("args").find("micro_batch"))
      batches.insert(static_cast<std::int64_t>(batch->number()));
  }
  const std::map<Thread, std::string> expected{
      {{0, 0}, "compute"}, {{1, 0}, "gather"}, {{1, 1}, "reduce"}, {{1, 2}, "replicate"}};
  CHECK(threads == expected);
  CHECK(carried["gather"] == std::set<std::string>{"all-gather"});
  CHECK(carried["reduce"] == std::set<std::string>{"reduce-scatter"});
  CHECK(carried["replicate"] == std::set<std::string>{"all-reduce"});
  CHECK(batches == std::set<std::int64_t>{1, 2});

  const auto episodes = static_cast<double>(outcome.result.episodes.size());
  const Metrics& metrics = outcome.result.metrics;
  CHECK(spent["copy"] == Approx(episodes * metrics.copy_s * 1e6));
  CHECK(spent["update"] == Approx(episodes * metrics.update_s * 1e6));
  CHECK(spent["forward"] == Approx(episodes * 2 * metrics.forward_s * 1e6));

  // The counter is the course of the last episode.
  const std::vector<MemoryPoint>& course = outcome.result.memory.course;
  REQUIRE(memory.size() == course.size());
  for (std::size_t i = 0; i < course.size(); ++i) {
    CHECK(memory[i].first ==
          Approx(1e6 * (to_seconds(outcome.result.episodes.back().start) + to_seconds(course[i].at))));
    CHECK(memory[i].second == Approx(course[i].bytes).margin(0.51));
  }

  // Arrows begin within a slice; those into the passes end where one starts.
  for (const Json& event : json.at("traceEvents").items()) {
    const std::string phase = event.at("ph").text();
    if (phase != "s" && phase != "f") continue;
    const std::string name = event.at("name").text();
    const double at = event.at("ts").number();
    const auto& list = slices[{event.at("pid").number(), event.at("tid").number()}];
    CHECK(std::any_of(list.begin(), list.end(), [&](const auto& one) {
      return phase == "s" ? one.first <= at && at <= one.second : std::abs(one.first - at) < 1e-9;
    }));
    if (phase == "s") ++arrows[name];
  }
  const std::size_t units = outcome.result.plan.blocks.size(), twice = outcome.result.episodes.size();
  CHECK(arrows["ready"] == twice * 2 * units);
  // Each gather leads into a copy, most reductions into a later one, all but those into the update or the next gather.
  CHECK(arrows["needed"] >= twice * 2 * (2 * units - 1));
}
