#include "sim/studies/experiment/sweep.hpp"

#include <filesystem>
#include <numeric>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/own_folder.hpp"
#include "tests/untimed_rows.hpp"

#include "sim/base/core/file.hpp"

using namespace allreplay;
namespace fs = std::filesystem;

namespace sweep_test {

namespace {

class Folder : public OwnFolder {
 public:
  Folder() {
    write("profile.csv", "layer,params,forward_us,backward_us\na,1000,10,20\nb,200000,30,60\n");
    write("cluster.json", R"({"name": "c", "workers": 4, "network": {"alpha": "10 us", "beta": "1 ns/B"}})");
    write("sweep.json",
          R"({"name": "s", "profiles": ["profile.csv"], "clusters": ["cluster.json"], "workers": [2, 4, 8, 16],
                            "collectives": ["ring", "binary-tree"], "strategies": ["wfbp", {"name": "ddp", "bucket_cap": "1 kB"}]})");
  }
};

}  // namespace

TEST_CASE("every combination is a row, strategies fastest") {
  const Folder folder;
  const Sweep sweep = read_sweep({}, folder("sweep.json"));
  REQUIRE(sweep.requests.size() == 16);
  CHECK(sweep.requests[0].strategy == "wfbp");
  CHECK(sweep.requests[1].strategy == "ddp");
  CHECK(sweep.requests[2].collective == "binary-tree");
  CHECK(sweep.requests[4].workers == 4);
}

TEST_CASE("a cluster's entry may have lists of its own") {
  const Folder folder;
  folder.write(
      "own.json",
      R"({"profiles": ["profile.csv"], "workers": [2, 4], "collectives": ["ring"], "strategies": ["wfbp", "s-sgd"],
                               "clusters": [{"cluster": "cluster.json", "workers": [16], "collectives": ["binary-tree", "halving-doubling"], "strategies": ["ddp"]},
                                            "cluster.json", {"cluster": "cluster.json", "fidelities": ["alpha-beta"]}]})");
  std::vector<std::string> found;
  const Sweep sweep = read_sweep({}, folder("own.json"));
  for (const Request request : sweep.requests)
    found.push_back(std::to_string(*request.workers.value) + " " + request.collective.value + " " +
                    request.strategy.value + " " + request.fidelity.value);
  CHECK(found == std::vector<std::string>{"16 binary-tree ddp ", "16 halving-doubling ddp ", "2 ring wfbp ",
                                          "2 ring s-sgd ", "4 ring wfbp ", "4 ring s-sgd ", "2 ring wfbp alpha-beta",
                                          "2 ring s-sgd alpha-beta", "4 ring wfbp alpha-beta",
                                          "4 ring s-sgd alpha-beta"});
}

TEST_CASE("errors in a cluster's own lists are reported at their place") {
  const Folder folder;
  const auto complaint = [&](const std::string& cluster) {
    folder.write("bad.json", R"({"profiles": ["profile.csv"], "strategies": ["wfbp"], "clusters": [)" + cluster + "]}");
    return error_place([&] { read_sweep({}, folder("bad.json")); });
  };
  CHECK(complaint(R"({"cluster": "cluster.json", "collective": ["ring"]})") ==
        folder("bad.json") + ": /clusters/0/collective");
  CHECK(complaint(R"({"cluster": "cluster.json", "workers": []})") == folder("bad.json") + ": /clusters/0/workers");
  CHECK(complaint(R"({"cluster": "none"})") == folder("bad.json") + ": /clusters/0/cluster");
  CHECK(complaint(R"({"workers": [4]})") == folder("bad.json") + ": /clusters/0");
}

TEST_CASE("an option may take several values: a row each, the last option fastest") {
  const Folder folder;
  folder.write("many.json", R"({"profiles": ["profile.csv"], "clusters": ["cluster.json"], "strategies": ["wfbp",
                                {"name": "us-byte", "partition": ["1 kB", "2 kB"], "second_phase": ["sequential", {"each": "random:{}", "from": 3, "to": 4}]}]})");
  std::vector<std::string> found;
  const Sweep sweep = read_sweep({}, folder("many.json"));
  for (const Request request : sweep.requests) {
    found.push_back(request.strategy);
    for (const OptionText& option : request.options) found.back() += " " + option.value;
  }
  CHECK(found == std::vector<std::string>{"wfbp", "us-byte 1 kB sequential", "us-byte 1 kB random:3",
                                          "us-byte 1 kB random:4", "us-byte 2 kB sequential", "us-byte 2 kB random:3",
                                          "us-byte 2 kB random:4"});
}

TEST_CASE("errors in an option's values are reported at their place") {
  const Folder folder;
  const auto complaint = [&](const std::string& value) {
    folder.write(
        "bad.json",
        R"({"profiles": ["profile.csv"], "clusters": ["cluster.json"], "strategies": [{"name": "us-byte", "second_phase": )" +
            value + "}]}");
    return error_place([&] { run_sweep(read_sweep({}, folder("bad.json")), {.progress = false}); });
  };
  const std::string place = folder("bad.json") + ": /strategies/0/second_phase";
  CHECK(complaint("[]") == folder("bad.json") + ": /strategies/0/second_phase");
  CHECK(complaint(R"({"each": "random", "from": 1, "to": 2})") ==
        folder("bad.json") + ": /strategies/0/second_phase/each");
  CHECK(complaint(R"({"each": "random:{}", "from": 2, "to": 1})") ==
        folder("bad.json") + ": /strategies/0/second_phase");
  CHECK(complaint(R"({"each": "random:{}", "from": 1, "to": 100001})") ==
        folder("bad.json") + ": /strategies/0/second_phase");
  CHECK(complaint(R"({"each": "random:{}", "from": 1})") == folder("bad.json") + ": /strategies/0/second_phase");
  CHECK(complaint(R"({"each": "random:{}", "from": 1, "to": 2, "by": 2})") ==
        folder("bad.json") + ": /strategies/0/second_phase/by");
  CHECK(complaint(R"({"each": "random:{}", "from": 1.5, "to": 2})") ==
        folder("bad.json") + ": /strategies/0/second_phase/from");
  CHECK(complaint(R"(["sequential", "sideways"])") == folder("bad.json") + ": /strategies/0/second_phase/1");
  CHECK(
      complaint(
          R"({"each": "random:{}", "from": 1, "to": 400}, "first_phase": {"each": "random:{}", "from": 1, "to": 400})") ==
      folder("bad.json") + ": /strategies/0/second_phase");
}

TEST_CASE("a sweep of too many rows is refused") {
  const Folder folder;
  folder.write("bad.json", R"({"profiles": ["profile.csv"], "clusters": ["cluster.json"], "workers": [2, 4],
                               "strategies": [{"name": "us-byte", "second_phase": {"each": "random:{}", "from": 1, "to": 60000}}]})");
  CHECK(error_place([&] { read_sweep({}, folder("bad.json")); }) == folder("bad.json"));
}

TEST_CASE("rows are the same, in the same order, whatever the number of jobs") {
  const Folder folder;
  const Sweep sweep = read_sweep({}, folder("sweep.json"));
  run_sweep(sweep, {.jobs = 1, .out = folder("one.csv"), .progress = false});
  run_sweep(sweep, {.jobs = 4, .out = folder("four.csv"), .progress = false});
  CHECK(untimed_rows(folder("one.csv")).size() == 17);
  CHECK(untimed_rows(folder("one.csv")) == untimed_rows(folder("four.csv")));
}

TEST_CASE("resume continues after the last whole row, wherever the sweep was cut") {
  const Folder folder;
  const Sweep sweep = read_sweep({}, folder("sweep.json"));
  run_sweep(sweep, {.out = folder("whole.csv"), .progress = false});
  const std::string text = Files().read_output(folder("whole.csv"));
  for (std::size_t cut = 0; cut <= text.size(); cut += 97) {
    std::ofstream(folder("cut.csv"), std::ios::binary) << text.substr(0, cut);
    run_sweep(sweep, {.jobs = 2, .out = folder("cut.csv"), .resume = true, .progress = false});
    REQUIRE(untimed_rows(folder("cut.csv")) == untimed_rows(folder("whole.csv")));
  }
  const auto nothing_left = run_sweep(sweep, {.out = folder("whole.csv"), .resume = true, .progress = false});
  CHECK(nothing_left.simulated == 0);
  CHECK(Files().read_output(folder("whole.csv")) == text);
  run_sweep(sweep, {.out = folder("fresh.csv"), .resume = true, .progress = false});
  CHECK(untimed_rows(folder("fresh.csv")) == untimed_rows(folder("whole.csv")));
}

TEST_CASE("resume refuses the file of another sweep, and does not change it") {
  const Folder folder;
  run_sweep(read_sweep({}, folder("sweep.json")), {.out = folder("out.csv"), .progress = false});
  const std::string before = Files().read_output(folder("out.csv"));
  folder.write("sweep.json",
               R"({"profiles": ["profile.csv"], "clusters": ["cluster.json"], "strategies": ["s-sgd", "wfbp"]})");
  CHECK(error_place([&] {
          run_sweep(read_sweep({}, folder("sweep.json")),
                    {.out = folder("out.csv"), .resume = true, .progress = false});
        }) == folder("out.csv"));
  CHECK(Files().read_output(folder("out.csv")) == before);
}

TEST_CASE("everything is checked before anything is written") {
  const Folder folder;
  folder.write(
      "bad.json",
      R"({"profiles": ["profile.csv"], "clusters": ["cluster.json"], "workers": [2, 0], "strategies": ["wfbp"]})");
  CHECK(error_place([&] {
          run_sweep(read_sweep({}, folder("bad.json")), {.out = folder("bad.csv"), .progress = false});
        }) == folder("bad.json") + ": /workers/1");
  folder.write(
      "bad.json",
      R"({"profiles": ["profile.csv"], "clusters": ["cluster.json"], "strategies": ["wfbp", {"name": "ddp", "bucket_cap": "0 B"}]})");
  CHECK(error_place([&] {
          run_sweep(read_sweep({}, folder("bad.json")), {.out = folder("bad.csv"), .progress = false});
        }) == folder("bad.json") + ": /strategies/1/bucket_cap");
  CHECK(!fs::exists(folder("bad.csv")));
}

TEST_CASE("every shipped sweep is read and its first rows run") {
  for (const std::string& name : Files().list_data("configs")) {
    INFO(name);
    if (Json::read(Files(), Files().find_data("configs", name, "sweep")).find("jobs")) continue;  // tests/studies/jobs
    Sweep sweep = read_sweep({}, name);
    REQUIRE(!sweep.requests.empty());
    std::vector<std::size_t> first(std::min<std::size_t>(sweep.requests.size(), 10));
    std::iota(first.begin(), first.end(), std::size_t{0});
    sweep.requests.keep(first);
    CHECK(run_sweep(sweep, {.jobs = 2, .progress = false}).simulated == sweep.requests.size());
  }
}

TEST_CASE("a sweep overwrites its own earlier result, and nothing else") {
  const Folder folder;
  Inputs inputs;
  inputs.files.protect_inputs();
  const Sweep sweep = read_sweep(inputs, folder("sweep.json"));
  run_sweep(sweep, {.out = folder("out.csv"), .progress = false});
  CHECK_NOTHROW(run_sweep(sweep, {.out = folder("out.csv"), .progress = false}));
  const std::string before = Files().read_output(folder("sweep.json"));
  CHECK(error_place([&] { run_sweep(sweep, {.out = folder("sweep.json"), .progress = false}); }) ==
        folder("sweep.json"));
  CHECK(Files().read_output(folder("sweep.json")) == before);
}

// Under the address sanitizer: GCC 12 destroyed a word of a list that was never made.
TEST_CASE("a routing that is a number is refused") {
  const OwnFolder folder;
  Files().write(folder("bad.json"), R"({"profiles": ["lenet5_2xk40c_b128"], "clusters": ["fat-tree-4"],
    "strategies": ["wfbp"], "routing": ["d-mod-k", 3]})");
  CHECK(error_place([&] { read_sweep({}, folder("bad.json")); }) == folder("bad.json") + ": /routing/1");
}

TEST_CASE("the command line's collective and fidelity replace the file's lists") {
  const Folder folder;
  const Sweep sweep = read_sweep({}, folder("sweep.json"), {.collective = "recursive-doubling"});
  REQUIRE(sweep.requests.size() == 8);  // 4 sizes x 2 strategies; the file's two collectives are one
  for (const Request request : sweep.requests) CHECK(request.collective == "recursive-doubling");
}

}  // namespace sweep_test
