// Requests that would take hours or fill the memory are refused before anything is simulated.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/replay/training/job.hpp"
#include "sim/replay/training/possible.hpp"

using namespace allreplay;

namespace {

Scenario of_tensors(std::uint32_t count, std::string_view strategy) {
  Profile profile;
  profile.name = "many";
  for (LayerId i = 0; i < count; ++i) {
    profile.layers.push_back({"l", Time(1000), Time(1000)});
    profile.tensors.push_back({"t", 1000, 4000, i});
  }
  return scenario_of(std::move(profile), strategy, 4, 1e-6, 1e-10);
}

std::string complaint(const Scenario& scenario) {
  return error_place([&] { require_possible(scenario); });
}

Scenario of_messages(const char* collective, std::int64_t workers) {
  Scenario scenario = of_tensors(1, "wfbp");
  scenario.cluster.network.topology = read_topology(
      Json::parse(R"({"kind": "star", "link": {"latency": "2 us", "bandwidth": "10 Gbit/s"}})", "topology"));
  scenario.cluster.network.place = {"cluster.json", "/network"};
  scenario.collective = collective;
  scenario.fidelity = "message";
  scenario.place_of_fidelity = {"command line", "--fidelity"};
  scenario.workers = workers;
  return scenario;
}

}  // namespace

TEST_CASE("planners that compare everything with everything have a limit, the others none") {
  // n²/2 runs of gradients, n² log n steps of schedules, Y(Y + 1)/2 times n²/2 groups: 10¹⁰ at most.
  for (const auto& [strategy, fit, too_many] : {std::tuple("optimal-merge", 141'000u, 142'000u),
                                                {"us-byte", 26'000u, 26'200u},
                                                {"mergecomp", 81'000u, 82'000u}}) {
    INFO(strategy);
    CHECK(complaint(of_tensors(fit, strategy)).empty());
    CHECK(complaint(of_tensors(too_many, strategy)) == "many");
  }
  for (const char* strategy : {"wfbp", "mg-wfbp", "ddp", "horovod", "bytescheduler", "p3", "dear", "best"})
    CHECK(complaint(of_tensors(150'000, strategy)).empty());
  Scenario given = of_tensors(28'000, "us-byte");  // no search: one schedule
  given.options.strategy.first_phase.kind = PhaseOrder::Kind::Sequential;
  CHECK(complaint(given).empty());
  Scenario optimal = of_tensors(100'000, "mergecomp");  // Y · n²/2: 10¹⁰ for two groups
  optimal.options.strategy.grouping = Grouping::Optimal;
  CHECK(complaint(optimal).empty());
  optimal = of_tensors(100'100, "mergecomp");
  optimal.options.strategy.grouping = Grouping::Optimal;
  CHECK(!complaint(optimal).empty());
  Scenario even = of_tensors(82'000, "mergecomp");
  even.options.strategy.grouping = Grouping::Even;
  CHECK(complaint(even).empty());
}

TEST_CASE("slices beyond a million are refused, for best as well") {
  for (const char* strategy : {"bytescheduler", "us-byte", "p3", "best"}) {
    Scenario scenario = of_tensors(1000, strategy);
    scenario.options.set("partition", "4 B", {"command line", "--option partition"});
    CHECK(complaint(scenario).empty());  // 4 MB in 4 B
    scenario.options.set("partition", "3 B", {"command line", "--option partition"});
    CHECK(complaint(scenario) == "command line: --option partition");
  }
}

TEST_CASE("gathers beyond a million are refused") {
  for (const auto& [bucket, most] : {std::pair(1, 1000u), {2, 2000u}}) {  // of 1000 elements each
    Scenario scenario = of_tensors(most, "zero-3");
    scenario.options.set("allgather_bucket", std::to_string(bucket), {"command line", "--option allgather_bucket"});
    CHECK(complaint(scenario).empty());
    scenario.profile = of_tensors(most + 2, "zero-3").profile;
    CHECK(complaint(scenario) == "command line: --option allgather_bucket");
  }
}

TEST_CASE("messages beyond twenty million at a time are refused, not simulated") {
  // parameter-server: N(N − 1) in a round, and two rounds. 3,162² · 2 = 19,996,488.
  CHECK(complaint(of_messages("parameter-server", 3'162)).empty());
  // With 5,001 workers the first 4,000 send exactly twenty million, and the others more.
  for (const std::int64_t workers : {3'163, 5'001, 8'192, 1'000'000})
    CHECK(complaint(of_messages("parameter-server", workers)) == "command line: --fidelity");
  Scenario few_servers = of_messages("parameter-server", 8'192);
  few_servers.options.collective.servers = 8;
  CHECK(complaint(few_servers).empty());
  CHECK(complaint(of_messages("ring", 8'192)).empty());
  Scenario fluid = of_messages("parameter-server", 8'192);
  fluid.fidelity = "fluid";
  CHECK(complaint(fluid).empty());
}

TEST_CASE("hierarchical runs as one group if workers do not fill groups, with a note") {
  Scenario scenario = of_messages("hierarchical", 6);  // a fat tree of 4 ports has two hosts at a switch
  scenario.cluster.network.topology = read_topology(Json::parse(
      R"({"kind": "fat-tree", "ports": 4, "link": {"latency": "2 us", "bandwidth": "10 Gbit/s"}})", "topology"));
  CHECK(job_of(scenario).choice.options.groups == 3);
  CHECK(job_of(scenario).warning.empty());
  scenario.workers = 5;
  CHECK(job_of(scenario).choice.options.groups == 1);
  CHECK_FALSE(job_of(scenario).warning.empty());
}

TEST_CASE("if every host has its own switch, placement does not affect hierarchical") {
  for (const auto& [hosts, said] : {std::pair(1, false), {2, true}}) {
    Scenario scenario = of_messages("hierarchical", 4);
    scenario.cluster.network.topology = read_topology(Json::parse(
        fmt::format(R"({{"kind": "leaf-spine", "leaves": {}, "spines": 1, "hosts_per_leaf": {}, "placement": "spread",
                         "link": {{"latency": "2 us", "bandwidth": "10 Gbit/s"}}}})",
                    4 / hosts, hosts),
        "topology"));
    const std::string warning = job_of(scenario).warning;
    INFO(warning);
    CHECK(!warning.empty() == said);
  }
}

TEST_CASE("costs that make days of an iteration are a mistaken unit") {
  // Among four a ring takes six messages: of 2e4 s, 33 hours. For all gradients together, and for each tensor.
  Scenario slow = of_tensors(1, "wfbp");
  slow.cluster.network.alpha = 2e4;
  slow.cluster.network.place = {"cluster.json", "/network"};
  CHECK(complaint(slow) == "cluster.json: /network");
  slow.cluster.network.alpha = 5e3;  // 2·6·5e3 s are 17 hours: slow, and not absurd
  CHECK(complaint(slow).empty());
}

TEST_CASE("with jitter, workers times their passes have a limit") {
  // Ten layers: 20 passes, and three million of them are 150,000 workers'.
  Scenario scenario = of_tensors(10, "wfbp");
  scenario.cluster.place = {"cluster.json", ""};
  scenario.workers = 150'001;
  CHECK(complaint(scenario).empty());
  scenario.stragglers.jitter.emplace();
  CHECK(complaint(scenario) == "cluster.json: /jitter");
  scenario.workers = 150'000;
  CHECK(complaint(scenario).empty());
}

TEST_CASE("messages that fluid would walk one by one have a limit, complete exchanges none") {
  // BML among N hosts of one switch: each sends to all others in a round, and there are two: 2 · 5,002 · 5,001.
  Scenario scenario = of_messages("bml", 5'002);
  scenario.fidelity = "fluid";
  CHECK(complaint(scenario) == "command line: --fidelity");
  scenario.collective = "parameter-server";
  scenario.workers = 65'536;
  CHECK(complaint(scenario).empty());
}

TEST_CASE("messages count once for each way that they take") {
  // A ring whose neighbours sit under two leaves, or, two of them a leaf, every second one: N messages in each of its
  // two rounds.
  const auto refusal = [](const char* collective, std::int64_t workers, const char* fidelity, const char* routing,
                          std::int64_t of_leaf = 1) {
    Scenario scenario = of_messages(collective, workers);
    scenario.cluster.network.topology = read_topology(Json::parse(
        fmt::format(R"({{"kind": "leaf-spine", "leaves": {}, "spines": 2, "hosts_per_leaf": {}, "routing": {},
                         "link": {{"latency": "2 us", "bandwidth": "10 Gbit/s"}}}})",
                    (workers + of_leaf - 1) / of_leaf, of_leaf, routing),
        "topology"));
    scenario.fidelity = fidelity;
    return complaint(scenario);
  };
  const char* parts = R"("ecmp", "flows": 1024)";
  // 2 · 24,414 · 1,024 = 49,999,872.
  CHECK(refusal("ring", 24'414, "fluid", parts).empty());
  CHECK(refusal("ring", 24'415, "fluid", parts) == "command line: --fidelity");
  CHECK(refusal("ring", 24'416, "fluid", parts, 2).empty());         // under one leaf there is one way
  CHECK(refusal("ring", 24'415, "fluid", R"("adaptive")").empty());  // over two spines two ways
  // 2 · 9,765 · 1,024 = 19,998,720; each part is kept, whatever its way.
  CHECK(refusal("ring", 9'765, "message", parts).empty());
  CHECK(refusal("ring", 9'766, "message", parts) == "command line: --fidelity");
  // Complete exchanges have a closed form only on a single way: here 2 · 4,000 · 3,999 messages of two ways.
  CHECK(refusal("parameter-server", 4'000, "fluid", R"("d-mod-k")").empty());
  CHECK(refusal("parameter-server", 4'000, "fluid", R"("adaptive")") == "command line: --fidelity");
  // One way each is possible. Beyond 50 million messages it is not: 2 · 5,001 · 5,000.
  CHECK(refusal("parameter-server", 4'000, "fluid", R"("ecmp")").empty());
  CHECK(refusal("parameter-server", 5'001, "fluid", R"("adaptive")") == "command line: --fidelity");
}

TEST_CASE("micro-batches are refused beyond eight million passes, or two million that each reduce gradients") {
  Scenario scenario = of_tensors(5, "fsdp2");
  scenario.options.set("accumulate", "200000", {"command line", "--accumulate"});  // 2 · 5 · 200,000
  CHECK(complaint(scenario).empty());
  scenario.options.set("accumulate", "200001", {"command line", "--accumulate"});
  CHECK(complaint(scenario) == "command line: --accumulate");
  scenario = of_tensors(5, "ddp");
  scenario.options.set("accumulate", "800001", {"command line", "--accumulate"});  // 2 · 5 · 800,001
  CHECK(complaint(scenario) == "command line: --accumulate");
}

TEST_CASE("ranks exchange in turns only if there are at least as many micro-batches as ranks") {
  const auto complaint_of = [](const char* schedule, const char* batches) {
    Scenario scenario = of_tensors(4, "ddp");
    scenario.workers = scenario.cluster.workers = 2;
    for (const auto& [name, value] : {std::pair("pp", "2"),
                                      {"accumulate", batches},
                                      {"p2p_bytes", "1 kB"},
                                      {"p2p", "blocking"},
                                      {"schedule", schedule}})
      scenario.options.set(name, value, {"command line", std::string("--") + name});
    return complaint(scenario);
  };
  for (const char* schedule : {"gpipe", "1f1b"}) {
    CHECK(complaint_of(schedule, "2").empty());
    CHECK(complaint_of(schedule, "1") == "command line: --p2p");
  }
  CHECK(complaint_of("interleaved", "4") == "command line: --p2p");
}

TEST_CASE("sums in switches need every link of the tree of each port") {
  const auto complaint_with = [](const char* port) {
    Scenario scenario = of_messages("in-network", 8);
    scenario.fidelity = "fluid";
    scenario.cluster.network.alpha = 5e-6;
    scenario.cluster.network.topology = read_topology(Json::parse(
        fmt::format(R"({{"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 1, "gpus_per_host": 2,
            "nics": 2, "inner": {{"latency": "1 us", "bandwidth": "50 GB/s"}},
            "link": {{"latency": "2 us", "bandwidth": "10 Gbit/s"}},
            "links": [{{"between": ["{}", "leaf1"], "down": true}}]}})",
                    port),
        "topology"));
    return error_place([&] { job_of(scenario); });
  };
  CHECK(complaint_with("h3.nic0") == "no place");
  CHECK(complaint_with("h3.nic1") == "no place");
}
