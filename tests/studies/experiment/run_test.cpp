#include "sim/studies/experiment/run.hpp"

#include <set>

#include "tests/catch.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/studies/results/row.hpp"

using namespace allreplay;

TEST_CASE("a search's row shows the options of the plans that it started from") {
  Profile profile;
  profile.layers = {{"l", to_time(1e-3), to_time(2e-3)}};
  profile.tensors = {{"t", 1000, 4000, 0}};
  const auto names = [&](const char* strategy, const char* stage) {
    Scenario scenario = scenario_of(profile, strategy, 4, 1e-6, 1e-9);
    scenario.options.set("bucket_cap", "1 MiB", {"command line", "--bucket-cap"});
    if (std::string(stage) != "0") scenario.options.set("zero", stage, {"command line", "--zero"});
    std::set<std::string> found;
    for (const auto& [name, value] : options_in_effect(scenario)) found.insert(name);
    return found;
  };
  CHECK(names("ddp", "0").contains("bucket_cap"));
  CHECK(names("best", "0").contains("bucket_cap"));  // ddp's, which it starts from
  CHECK(!names("p3", "0").contains("bucket_cap"));
  // Over units it starts from plans of units: what it says of blocks is not asked.
  for (const std::string_view name : find_strategy("best", {}).options)
    CHECK(!names("best", "3").contains(std::string(name)));
}
