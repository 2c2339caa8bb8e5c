// The algorithm of an operation that is asked for by itself.
#include "sim/replay/training/collective_choice.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/replay/training/scenario.hpp"

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
  CHECK(error_place([&] { collective_of(asking(CollectiveOp::AllReduce, "all-to-all")); }) ==
        "c.json: /network/collective");
  // An algorithm named for the operation, or by a flag, has to be able to do it.
  Scenario own = asking(CollectiveOp::AllToAll, "ring");
  own.cluster.network.by_operation = {{"all-to-all", "ring"}};
  CHECK(error_place([&] { collective_of(own); }) == "c.json: /network/collective/all-to-all");
  Scenario flag = asking(CollectiveOp::AllToAll, "all-to-all");
  flag.collective = "ring";
  CHECK(!error_place([&] { collective_of(flag); }).empty());
}

TEST_CASE("the default fidelity is fluid if hosts share links, unless the file has constants of its own") {
  const auto fidelity = [](const std::string& topology, const std::string& more = "", const char* collective = "ring") {
    Scenario scenario = asking(CollectiveOp::AllReduce, collective);
    scenario.operation.reset();
    const std::string link = R"("link": {"latency": "1 us", "bandwidth": "10 Gbit/s"})";
    scenario.cluster =
        read_cluster(Json::parse(R"({"name": "c", "workers": 4, "network": {"alpha": "1 us", "topology": {)" +
                                     topology + ", " + link + "}" + more + "}}",
                                 "c.json"));
    scenario.cluster.network.collective = collective;
    return to_string(collective_of(scenario).fidelity);
  };
  const std::string leaf_spine = R"("kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": )";
  CHECK(fidelity(R"("kind": "star")") == "alpha-beta");
  CHECK(fidelity(R"("kind": "fat-tree", "ports": 4)") == "alpha-beta");
  CHECK(fidelity(R"("kind": "fat-tree", "ports": 4, "oversubscription": 2)") == "fluid");
  CHECK(fidelity(leaf_spine + "2") == "alpha-beta");  // each host has a spine of its own
  CHECK(fidelity(leaf_spine + "4") == "fluid");       // links to spines have half of a host's bandwidth
  CHECK(fidelity(leaf_spine + R"(1, "oversubscription": 2)") == "fluid");
  CHECK(fidelity(R"("kind": "torus", "dimensions": [2, 2])") == "fluid");
  CHECK(fidelity(R"("kind": "star", "links": [{"between": ["h0", "s0"], "bandwidth": "1 Gbit/s"}])") == "fluid");
  // A stated fidelity wins over the default; so do constants, and collectives that fluid does not have.
  CHECK(fidelity(leaf_spine + "4", R"(, "fidelity": "alpha-beta")") == "alpha-beta");
  CHECK(fidelity(leaf_spine + "4", R"(, "fidelity": "message")") == "message");
  CHECK(fidelity(leaf_spine + "4", R"(, "beta": "1 ns/B")") == "alpha-beta");
  CHECK(fidelity(leaf_spine + "4", R"(, "server": {"alpha": "1 us", "beta": "1 ns/B"})", "parameter-server") ==
        "alpha-beta");
}
