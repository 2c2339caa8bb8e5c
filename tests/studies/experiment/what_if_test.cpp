#include "sim/studies/experiment/what_if.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/own_folder.hpp"

#include "sim/studies/experiment/target.hpp"

using namespace allreplay;

TEST_CASE("a share above 100 % is no target, except of an efficiency, which sharding may raise above it") {
  const SourceLocation place{"command line", "--target"};
  for (const char* target : {"mfu>140%", "mfu<100.1%", "exposed<140%"})
    CHECK(error_place([&] { parse_target(target, place); }) == "command line: --target");
  for (const char* target : {"mfu<100%", "exposed<=100%", "efficiency>120%"})
    CHECK_NOTHROW(parse_target(target, place));
}

TEST_CASE("what a change brings is counted in samples per second") {
  const OwnFolder folder;
  folder.write("p.csv", "layer,params,forward_us,backward_us\na,250000,1000,2000\nb,250000,1000,2000\n");
  folder.write("c.json", R"({"name": "c", "workers": 4, "network": {"alpha": "100 us", "beta": "1 ns/B"}})");
  Request request;
  request.profile = folder("p.csv");
  request.cluster = folder("c.json");
  request.strategy = "wfbp";
  Library library;
  const WhatIf what = what_if(library, request, {.budget = 1, .jobs = 1});
  // A layer's 1 MB takes 2·3·100 us + 2·3/4·1 ns/B·1 MB = 2.1 ms. b's travels from 2 ms on until 4.1, a's until 6.2,
  // and both forward passes follow it: 8.2 ms for four samples.
  CHECK(what.base.outcome.result.metrics.iteration_s == Approx(8.2e-3));
  CHECK(what.base.gain == 0);
  const auto row = [&](const std::string& change) {
    const auto found =
        std::find_if(what.rows.begin(), what.rows.end(), [&](const WhatIfRow& one) { return one.change == change; });
    INFO(change);
    REQUIRE(found != what.rows.end());
    return *found;
  };
  // Twice the passes, 6 ms more, and the same transfers: eight samples in 14.2 ms.
  const WhatIfRow batches = row("2 micro-batches instead of 1");
  CHECK(batches.outcome.result.metrics.iteration_s == Approx(14.2e-3));
  CHECK(batches.gain == Approx(8 / 14.2 / (4 / 8.2) - 1));
  // Among eight 2·7·100 us + 2·7/8 ms = 3.15 ms each: 2 + 6.3 + 2 = 10.3 ms.
  const WhatIfRow workers = row("8 workers instead of 4");
  CHECK(workers.outcome.result.metrics.iteration_s == Approx(10.3e-3));
  CHECK(workers.gain == Approx(8 / 10.3 / (4 / 8.2) - 1));
  // More workers and the searched schedule are not combined with other changes.
  CHECK(!what.together.empty());
  for (const WhatIfRow& one : what.together) {
    CHECK(one.change.find("workers instead of") == std::string::npos);
    CHECK(one.change.find("the best schedule") == std::string::npos);
  }
  // 0.6 + 1.5/2 ms each: b's has arrived before a's is ready at 4 ms, which takes until 5.35; 7.35 ms.
  CHECK(row("network bandwidth x2").gain == Approx(8.2 / 7.35 - 1));
}

TEST_CASE("what lies inside nodes is asked about where there are nodes, and links that have a speed") {
  const OwnFolder folder;
  folder.write("p.csv", "layer,params,forward_us,backward_us\na,250000,1000,2000\n");
  folder.write("nodes.json", R"({"name": "c", "workers": 8, "network": {"alpha": "100 us", "beta": "1 ns/B",
                                 "node": {"workers": 2, "alpha": "1 us", "beta": "0.1 ns/B"}}})");
  folder.write("flat.json", R"({"name": "c", "workers": 8, "network": {"alpha": "100 us", "beta": "1 ns/B"}})");
  for (const bool nodes : {true, false}) {
    Request request;
    request.profile = folder("p.csv");
    request.cluster = folder(nodes ? "nodes.json" : "flat.json");
    request.strategy = "wfbp";
    Library library;
    const WhatIf what = what_if(library, request, {.budget = 1, .jobs = 1});
    const auto asked = [&](const std::string& change) {
      return std::any_of(what.rows.begin(), what.rows.end(),
                         [&](const WhatIfRow& one) { return one.change == change; });
    };
    CHECK(asked("bandwidth inside nodes x2") == nodes);
    CHECK(asked("nodes of 4 instead of 2") == nodes);
    CHECK(asked("network bandwidth x2"));
  }
}

TEST_CASE("more ports per node are asked about where a topology gives the number of NICs") {
  const OwnFolder folder;
  folder.write("p.csv", "layer,params,forward_us,backward_us\na,250000,1000,2000\nb,250000,1000,2000\n");
  folder.write("c.json", R"({"name": "c", "workers": 16, "network": {"alpha": "4 us", "collective": "ring",
    "topology": {"kind": "star", "gpus_per_host": 4, "nics": 1, "link": {"latency": "2 us", "bandwidth": "10 Gbit/s"},
                 "inner": {"latency": "1 us", "bandwidth": "50 GB/s"}}}})");
  Request request;
  request.profile = folder("p.csv");
  request.cluster = folder("c.json");
  request.strategy = "ddp";
  Library library;
  const WhatIf what = what_if(library, request, {.budget = 1, .jobs = 1});
  const auto ports = std::ranges::find_if(
      what.rows, [](const WhatIfRow& one) { return one.change == "2 ports per node instead of 1"; });
  REQUIRE(ports != what.rows.end());
  // Each worker's 2 MB cross a port as 2·15/16·2 MB: 3 ms at 1.25 GB/s, half of it with two.
  CHECK(what.base.outcome.result.metrics.iteration_s - ports->outcome.result.metrics.iteration_s ==
        Approx(2 * 15. / 16 * 2e6 / 1.25e9 / 2).epsilon(1e-3));
}

TEST_CASE("sharded strategies on several nodes are asked about shard groups of one node, and about none") {
  const OwnFolder folder;
  folder.write("p.csv", "layer,params,forward_us,backward_us\na,250000,1000,2000\nb,250000,1000,2000\n");
  folder.write("c.json", R"({"name": "c", "workers": 8, "network": {"alpha": "100 us", "beta": "1 ns/B",
                             "node": {"workers": 4, "alpha": "1 us", "beta": "0.01 ns/B"}}})");
  const auto ask = [&](const std::string& strategy, std::int64_t workers, const std::string& group,
                       const std::string& memory = "") {
    Request request;
    request.profile = folder("p.csv");
    request.cluster = folder("c.json");
    request.strategy = strategy;
    request.workers = workers;
    set_option(request, "shard_group", group);
    set_option(request, "memory", memory);
    Library library;
    return what_if(library, request, {.budget = 1, .jobs = 1});
  };
  const auto group_of = [](const WhatIf& what, const std::string& change) -> std::optional<WhatIfRow> {
    for (const WhatIfRow& one : what.rows)
      if (one.change == change) return one;
    return std::nullopt;
  };
  const std::string node = "shard groups of 4 (one node)";
  const WhatIf all = ask("fsdp2", 8, "");
  const auto grouped = group_of(all, node);
  REQUIRE(grouped);
  CHECK(grouped->outcome.result.plan.sharding.shard_group == 4);
  // Gathers and reduce-scatters stay inside the nodes; only a quarter of the gradients is all-reduced between the two.
  CHECK(grouped->gain > 0);
  // The answer to the opposite question is what it started from.
  const auto back = group_of(ask("fsdp2", 8, "4"), "shards among all workers, not in groups of 4");
  REQUIRE(back);
  CHECK(back->outcome.result.metrics.iteration_s == all.base.outcome.result.metrics.iteration_s);
  CHECK(group_of(ask("fsdp2", 8, "2"), "shard groups of 4 (one node) instead of 2"));
  // A quarter of the state needs more memory than an eighth.
  const double least = all.base.outcome.result.memory.peak, most = grouped->outcome.result.memory.peak;
  REQUIRE(least < most);
  const auto unfit = group_of(ask("fsdp2", 8, "", std::to_string(std::llround((least + most) / 2)) + " B"), node);
  REQUIRE(unfit);
  CHECK_FALSE(unfit->fits);
  // Nothing is sharded, there is one node only, or half of a node is free.
  CHECK_FALSE(group_of(ask("ddp", 8, ""), node));
  CHECK_FALSE(group_of(ask("fsdp2", 4, ""), node));
  CHECK_FALSE(group_of(ask("fsdp2", 6, ""), node));
}

TEST_CASE("what nobody sells is not asked about: nodes of 16, ports of more than 800 Gbit/s") {
  const OwnFolder folder;
  folder.write("p.csv", "layer,params,forward_us,backward_us\na,250000,1000,2000\n");
  // Nodes of 8 GPUs, and ports of 400 Gbit/s: 50 GB/s, or 0.02 ns/B.
  folder.write("c.json", R"({"name": "c", "workers": 32, "network": {"alpha": "5 us", "beta": "0.02 ns/B",
                             "node": {"workers": 8, "alpha": "1 us", "beta": "0.002 ns/B"}}})");
  Request request;
  request.profile = folder("p.csv");
  request.cluster = folder("c.json");
  request.strategy = "wfbp";
  Library library;
  const WhatIf what = what_if(library, request, {.budget = 1, .jobs = 1});
  const auto asked = [&](const std::string& change) {
    return std::any_of(what.rows.begin(), what.rows.end(), [&](const WhatIfRow& one) { return one.change == change; });
  };
  CHECK(asked("network bandwidth x2"));
  CHECK_FALSE(asked("network bandwidth x4"));
  CHECK_FALSE(asked("nodes of 16 instead of 8"));
}

TEST_CASE("twice and half as many ranks of a pipeline are asked about, with as many samples") {
  const OwnFolder folder;
  std::string layers = "layer,params,forward_us,backward_us\n";
  for (int i = 0; i < 8; ++i) layers += "l" + std::to_string(i) + ",1000,100,200\n";
  folder.write("p.csv", layers);
  folder.write("c.json", R"({"name": "c", "workers": 8, "network": {"alpha": "10 us", "beta": "1 ns/B"}})");
  Request request;
  request.profile = folder("p.csv");
  request.cluster = folder("c.json");
  request.strategy = "ddp";
  for (const auto& [name, value] : {std::pair("pp", "4"), {"accumulate", "4"}, {"p2p_bytes", "1 kB"}})
    set_option(request, name, value);
  Library library;
  const WhatIf what = what_if(library, request, {.budget = 1, .jobs = 1});
  std::map<std::string, std::int64_t> batches;  // of each change of degree
  for (const WhatIfRow& row : what.rows)
    if (row.change.starts_with("pp ")) batches[row.change] = row.outcome.result.plan.sharding.accumulate;
  CHECK(batches == std::map<std::string, std::int64_t>{{"pp 8 instead of 4", 8}, {"pp 2 instead of 4", 2}});
}

TEST_CASE("every change that is not possible here is said") {
  const OwnFolder folder;
  folder.write("p.csv", "layer,params,forward_us,backward_us\na,250000,1000,2000\n");
  // A placement names as many hosts as there are workers: twice as many have none.
  folder.write("c.json", R"({"name": "c", "workers": 4, "network": {"alpha": "1 us", "gamma": "0 s/B",
    "topology": {"kind": "star", "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"},
                 "placement": ["h1", "h0", "h3", "h2"]}}})");
  Request request;
  request.profile = folder("p.csv");
  request.cluster = folder("c.json");
  request.strategy = "wfbp";
  request.codec = "signsgd";  // whose payloads nothing sums, and no plan shards
  Library library;
  const WhatIf what = what_if(library, request, {.budget = 1, .jobs = 1});
  const auto left_out = [&](const std::string& change) {
    return std::any_of(what.left_out.begin(), what.left_out.end(),
                       [&](const std::string& one) { return one.starts_with(change + ": "); });
  };
  for (const std::string& one : what.left_out) UNSCOPED_INFO(one);
  CHECK(left_out("8 workers instead of 4"));
  CHECK(what.left_out.size() > 1);
  for (const WhatIfRow& row : what.rows) CHECK(!left_out(row.change));
}
