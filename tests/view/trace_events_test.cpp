#include "sim/view/trace_events.hpp"

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
    arrows_from += phase == "s";
    arrows_to += phase == "f";
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
