#include "sim/experiment/run.hpp"

#include <set>

#include "tests/catch.hpp"
#include "tests/training/scenario.hpp"

#include "sim/experiment/row.hpp"

using namespace allreplay;

TEST_CASE("a schedule that was searched is told in words: what it gathers and reduces, and among whom") {
  Profile profile;
  profile.name = "three";
  for (LayerId layer = 0; layer < 3; ++layer) {
    profile.layers.push_back({"l" + std::to_string(layer), to_time(1e-3), to_time(2e-3)});
    profile.tensors.push_back({"t" + std::to_string(layer), 1000, 4000, layer});
  }
  Scenario scenario = scenario_of(profile, "best", 4, 1e-6, 1e-9);
  CHECK(chosen_schedule(run(scenario)).empty());  // of blocks alone there is nothing to tell
  scenario.options.strategy.sharding.zero = 3;
  const std::string whole = chosen_schedule(run(scenario));
  INFO(whole);
  CHECK(whole.starts_with("3 layers"));
  CHECK(whole.find(" gathers, ") != std::string::npos);
  CHECK(whole.find("among groups") == std::string::npos);  // there are none
  scenario.options.strategy.sharding.shard_group = 2;
  const std::string groups = chosen_schedule(run(scenario));
  INFO(groups);
  CHECK(groups.find(" all-reduces among groups") != std::string::npos);
}

TEST_CASE("what a search starts from stands in its row's options, and of the others what they come with") {
  Profile profile;
  profile.layers = {{"l", to_time(1e-3), to_time(2e-3)}};
  profile.tensors = {{"t", 1000, 4000, 0}};
  const auto names = [&](const char* strategy, const char* stage) {
    Scenario scenario = scenario_of(profile, strategy, 4, 1e-6, 1e-9);
    scenario.options.set("bucket_cap", "1 MiB", {"command line", "--bucket-cap"});
    if (std::string(stage) != "0") scenario.options.set("zero", stage, {"command line", "--zero"});
    std::set<std::string> found;
    for (const auto& [name, value] : options_that_matter(scenario)) found.insert(name);
    return found;
  };
  CHECK(names("ddp", "0").contains("bucket_cap"));
  CHECK(names("best", "0").contains("bucket_cap"));  // ddp's, which it starts from
  CHECK(!names("p3", "0").contains("bucket_cap"));
  // Over units it starts from plans of units: what it says of blocks is not asked.
  for (const std::string_view name : find_strategy("best", {}).options)
    CHECK(!names("best", "3").contains(std::string(name)));
}
