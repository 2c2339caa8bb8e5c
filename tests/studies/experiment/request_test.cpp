// Requests resolved to scenarios.
#include "sim/studies/experiment/request.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/own_folder.hpp"

#include "sim/inputs/cluster/cluster.hpp"
#include "sim/studies/experiment/cluster_words.hpp"
#include "sim/studies/experiment/requests.hpp"
#include "sim/studies/experiment/run.hpp"

using namespace allreplay;

TEST_CASE("complaints point at where each name was given") {
  Request request;
  request.cluster = "k80-10gbe";
  request.collective.place = {"command line", "--collective"};
  request.fidelity.place = {"command line", "--fidelity"};
  const Scenario scenario = Library().resolve_network(request);
  CHECK(scenario.place_of_collective.path == "--collective");
  CHECK(scenario.place_of_fidelity.path == "--fidelity");
}

TEST_CASE("the rows of a product: its branches vary fastest") {
  Requests::Product product;
  for (const std::int64_t workers : {2, 4})
    product.lists.resize(1), product.lists[0].push_back([workers](Request& request) { request.workers = workers; });
  product.branches.push_back({[](Request& request) { request.strategy = "a"; }, {}});
  product.branches.push_back({[](Request& request) { request.strategy = "b"; }, {{{"x", "1", {}}, {"x", "2", {}}}}});
  product.branches.push_back({[](Request& request) { request.strategy = "none"; }, {{}}});  // an option without values
  for (int i = 0; i < 10'000; ++i) product.branches.push_back({[](Request& request) { request.strategy = "c"; }, {}});
  Requests requests;
  for (const char* profile : {"p", "q"})
    requests.add(std::make_shared<Requests::Product>(product), [profile](Request& one) { one.profile = profile; });
  REQUIRE(requests.size() == 2 * 2 * 10'003);
  std::size_t row = 0;
  bool all = true;
  for (const char* profile : {"p", "q"})
    for (const std::int64_t workers : {2, 4})
      for (std::size_t place = 0; place < 10'003; ++place, ++row) {
        const Request one = requests[row];
        all &= one.profile.value == profile && one.workers.value == workers;
        all &= one.strategy == (place == 0 ? "a" : place < 3 ? "b" : "c");
        all &= place == 1 || place == 2 ? one.options.at(0).value == std::to_string(place) : one.options.empty();
      }
  CHECK(all);
}

TEST_CASE("an iteration that a changed bandwidth makes too long is blamed on that change, not on the cluster file") {
  // 1 GB at 400 bit/s, 50 B/s, takes 20 million seconds.
  const OwnFolder folder;
  folder.write("c.json", R"({"name": "c", "workers": 2, "network": {"alpha": "10 us", "beta": "1 ns/B"}})");
  folder.write("p.csv", "layer,params,forward_us,backward_us\na,250000000,10,20\n");
  const auto place_with = [&](std::vector<ChangeText> changes) {
    Request request;
    request.cluster = folder("c.json");
    request.profile = folder("p.csv");
    request.strategy = "ddp";
    request.changes = std::move(changes);
    return error_place([&] { run(Library().resolve(request)); });
  };
  const SourceLocation flag{"command line", "--bandwidth"};
  const std::string asked = place_with({{"bandwidth", "400 bit/s", flag}});
  CHECK(asked.starts_with("command line: --bandwidth"));
  CHECK(place_with({{"bandwidth", "400 bit/s", {}}}).find("c.json") != std::string::npos);
}

TEST_CASE("a request in the words of `run`") {
  Request request;
  request.profile = "p";
  request.cluster = "c";
  request.strategy = "ddp";
  CHECK(run_flags(request) == std::vector<std::string>{"--profile", "p", "--cluster", "c", "--strategy", "ddp"});
  request.workers = 8;
  request.collective = "ring";
  request.fidelity = "fluid";
  request.codec = "onebit";
  request.forward_ratio = 0.5;
  request.reuse = false;
  request.changes = {{"bandwidth", "x2", {}}};
  set_option(request, "bucket_cap", "1 MB");
  set_option(request, "launch", "5 us");
  set_option(request, "bucket_cap", "2 MB");
  CHECK(run_flags(request) ==
        std::vector<std::string>{"--profile",   "p",        "--cluster",       "c",           "--workers",  "8",
                                 "--strategy",  "ddp",      "--collective",    "ring",        "--fidelity", "fluid",
                                 "--codec",     "onebit",   "--forward-ratio", "0.5",         "--no-reuse", "--option",
                                 "launch=5 us", "--option", "bucket_cap=2 MB", "--bandwidth", "x2"});
  set_option(request, "launch", "");
  CHECK(request.options.size() == 1);
  CHECK(request.options[0].name == "bucket_cap");
}

TEST_CASE("a share of the stragglers' slowness is of what they take longer") {
  const OwnFolder folder;
  folder.write("c.json", R"({"name": "c", "workers": 4, "network": {"alpha": "10 us", "beta": "1 ns/B"},
                             "stragglers": [{"worker": 0, "slowdown": 1.5}, {"worker": 3, "slowdown": 0.8}]})");
  folder.write("p.csv", "layer,params,forward_us,backward_us\na,1000,10,20\n");
  Request request;
  request.cluster = folder("c.json");
  request.profile = folder("p.csv");
  request.strategy = "ddp";
  request.changes = {{"stragglers", "x0.5", {}}};
  const std::vector<Slowdown> slow = Library().resolve(request).stragglers.slow;
  REQUIRE(slow.size() == 2);
  CHECK(slow[0].factor == Approx(1.25));
  CHECK(slow[1].factor == Approx(0.9));
}

TEST_CASE("a cluster in words is the file that they stand for") {
  std::vector<ChangeText> words;
  for (const auto& [name, value] :
       {std::pair("nodes", "4"), {"gpus", "8"}, {"network", "400Gbit/s"}, {"inner", "370GB/s"}, {"rails", "2"}})
    words.push_back({name, value, {"command line", std::string("--") + name}});
  const Cluster cluster = read_cluster(Json::parse(cluster_file_of(words), "words"));
  CHECK(cluster.workers == 32);
  REQUIRE(cluster.network.node);
  CHECK(cluster.network.node->workers == 8);
  CHECK(cluster.network.node->rails == 2);
  CHECK(*cluster.network.beta == Approx(1 / 50e9));
  CHECK(*cluster.network.node->beta == Approx(1 / 370e9));
  CHECK(*cluster.network.alpha == Approx(5e-6));
  CHECK(*cluster.network.node->alpha == Approx(1e-6));
  words.erase(words.begin() + 3);
  CHECK(error_place([&] { cluster_file_of(words); }) == "command line: --inner");
}

TEST_CASE("a batch of one sample is in proportion, and none is no batch") {
  const OwnFolder folder;
  folder.write("c.json", R"({"name": "c", "workers": 4, "network": {"alpha": "10 us", "beta": "1 ns/B"}})");
  folder.write("p.json", R"({"model": {"name": "m", "layers": [
      {"name": "a", "tensors": [{"name": "a.w", "shape": [1000]}]}]}, "device": "d", "framework": "f", "batch_size": 8,
      "precision": "fp32", "origin": "measured", "source": "s", "unit": "us",
      "layers": [{"name": "a", "forward": 80, "backward": 160}]})");
  Request request;
  request.cluster = folder("c.json");
  request.profile = folder("p.json");
  request.strategy = "ddp";
  request.changes = {{"batch", "1", {"command line", "--batch"}}};
  const Scenario scenario = Library().resolve(request);
  CHECK(scenario.profile->batch_size == 1);
  CHECK(scenario.profile->forward() == to_time(10e-6));
  request.changes[0].value = "0";
  CHECK(error_place([&] { Library().resolve(request); }) == "command line: --batch");
}
