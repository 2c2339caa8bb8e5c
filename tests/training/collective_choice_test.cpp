// Which algorithm carries an operation that is asked for alone.
#include "sim/training/collective_choice.hpp"

#include "tests/catch.hpp"
#include "tests/error_message.hpp"
#include "tests/training/scenario.hpp"

using namespace allreplay;

namespace {

Scenario asking(CollectiveOp op, const std::string& in_file) {
  Profile profile;
  profile.layers = {{"l", Time(1000), Time(1000)}};
  profile.tensors = {{"t", 1000, 4000, 0}};
  Scenario scenario = scenario_of(profile, "wfbp", 4, 1e-6, 1e-9);
  scenario.operation = op;
  scenario.cluster.network.collective = in_file;
  scenario.cluster.network.place = {"c.json", "/network"};
  return scenario;
}

}  // namespace

TEST_CASE("an algorithm of a file that cannot carry an operation leaves it to the usual one, but not all-reduces") {
  const auto named = [](CollectiveOp op, const char* in_file) { return collective_of(asking(op, in_file)).named; };
  CHECK(named(CollectiveOp::Broadcast, "parameter-server") == "binary-tree");
  CHECK(named(CollectiveOp::AllToAll, "ring") == "all-to-all");
  CHECK(named(CollectiveOp::AllReduce, "parameter-server") == "parameter-server");
  CHECK(error_message([&] {
          collective_of(asking(CollectiveOp::AllReduce, "all-to-all"));
        }).starts_with("c.json: /network/collective: all-to-all does not support the operation all-reduce ("));
  // What is named for the operation, or by a flag, has to be able to.
  Scenario own = asking(CollectiveOp::AllToAll, "ring");
  own.cluster.network.by_operation = {{"all-to-all", "ring"}};
  CHECK(error_message([&] {
          collective_of(own);
        }).starts_with("c.json: /network/collective/all-to-all: ring does not support the operation all-to-all ("));
  Scenario flag = asking(CollectiveOp::AllToAll, "all-to-all");
  flag.collective = "ring";
  CHECK(!error_message([&] { collective_of(flag); }).empty());
}
