// Sweeps over jobs files: threads, shares and a farm give the same rows. What a row says:
// tests/programs/command/test_jobs_sweep.py.
#include "sim/studies/jobs/jobs_sweep.hpp"

#include <fmt/format.h>

#include "tests/base/farm/threads.hpp"
#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/own_folder.hpp"
#include "tests/untimed_rows.hpp"

#include "sim/base/core/file.hpp"
#include "sim/studies/experiment/sweep_file.hpp"

using namespace allreplay;

namespace {

class JobsSweepFolder : public OwnFolder {
 public:
  JobsSweepFolder() {
    write("p.csv", "layer,params,forward_us,backward_us\na,1000,10,20\nb,200000,30,60\n");
    write("c.json", R"({"name": "c", "workers": 4, "network": {"alpha": "10 us", "gamma": "0 s/B",
                        "topology": {"kind": "star", "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}}}})");
    write("three.json", R"({"cluster": "c.json", "iterations": 3, "jobs": [{"profile": "p.csv", "workers": 2},
                            {"profile": "p.csv", "workers": 1}, {"profile": "p.csv", "workers": 1}]})");
    write("two.json", R"({"cluster": "c.json", "iterations": 3, "jobs": [{"profile": "p.csv", "workers": 2},
                          {"profile": "p.csv", "workers": 2}]})");
    write("s.json", R"({"jobs": ["three.json", "two.json"], "fidelities": ["fluid", "message"],
                        "strategies": ["wfbp", "ddp"], "placements": ["packed", "random:1"]})");
  }
  SweepQuestions sweep() const { return questions_of(read_jobs_sweep({}, Json::read(Files(), (*this)("s.json")))); }
  std::vector<std::string> rows(const std::string& name) const { return untimed_rows((*this)(name)); }
};

}  // namespace

TEST_CASE("questions have as many rows as their files have jobs") {
  const JobsSweepFolder folder;
  const SweepRows rows = folder.sweep().check();
  // Two files of three and two jobs, each with 2 fidelities, 2 strategies and 2 placements.
  REQUIRE(rows.first.size() == 16);
  CHECK(rows.size() == 8 * 3 + 8 * 2);
  CHECK(rows.count_of(7) == 3);
  CHECK(rows.count_of(8) == 2);
  CHECK(rows.rows_of({7, 15}) == std::vector<std::size_t>{21, 22, 23, 38, 39});
  CHECK(rows.all.inputs[0] == rows.all.inputs[2]);
  CHECK(rows.all.inputs[0] != rows.all.inputs[3]);
}

TEST_CASE("a sweep of 100,000 rows is taken, and none of more") {
  const JobsSweepFolder folder;
  // Two files, of 5 jobs together, each with 2 fidelities, 2 strategies and the placements: 20 rows for each of these.
  const auto place_with = [&](int placements) {
    std::string all;
    for (int i = 0; i < placements; ++i) all += fmt::format(R"({}"random:{}")", i > 0 ? "," : "", i);
    folder.write("s.json", fmt::format(R"({{"jobs": ["three.json", "two.json"], "fidelities": ["fluid", "message"],
                                           "strategies": ["wfbp", "ddp"], "placements": [{}]}})",
                                       all));
    return error_place([&] { read_jobs_sweep({}, Json::read(Files(), folder("s.json"))); });
  };
  CHECK(place_with(5000).empty());
  CHECK(place_with(5001) == folder("s.json"));
}

TEST_CASE("a row is made from the profiles of its job's classes, too") {
  const JobsSweepFolder folder;
  const std::string slow = "layer,params,forward_us,backward_us\na,1000,10,20\nb,200000,30,";
  folder.write("s.json", R"({"jobs": ["classes.json"], "fidelities": ["fluid"]})");
  folder.write("classes.json", R"({"cluster": "c.json", "iterations": 3, "jobs": [{"profile": "p.csv", "workers": 2,
                                   "classes": [{"workers": 1}, {"workers": 1, "profile": "q.csv"}]}]})");
  folder.write("q.csv", slow + "70\n");
  const auto before = folder.sweep().check().all.inputs;
  CHECK(folder.sweep().check().all.inputs == before);
  folder.write("q.csv", slow + "80\n");
  CHECK(folder.sweep().check().all.inputs != before);
}

TEST_CASE("a search costs as many runs as a pass of it has") {
  const JobsSweepFolder folder;
  folder.write("s.json", R"({"jobs": ["searched.json"], "fidelities": ["fluid"],
                             "searches": [{}, {"place": true}, {"stagger": 4}, {"place": true, "stagger": 4}]})");
  folder.write("searched.json", R"({"cluster": "c.json", "iterations": 3, "jobs": [
    {"profile": "p.csv", "workers": 2, "placements": ["packed", "spread", "random:1"]},
    {"profile": "p.csv", "workers": 2, "placements": ["packed", "spread"]}]})");
  const std::vector<std::uint64_t> costs = folder.sweep().check().costs;
  REQUIRE(costs.size() == 4);
  CHECK(costs[1] == 4 * costs[0]);  // two further placements, and one
  CHECK(costs[2] == 4 * costs[0]);  // three further offsets of the second
  CHECK(costs[3] == 7 * costs[0]);
}

TEST_CASE("shares and a farm give the rows of jobs that one process gives") {
  const JobsSweepFolder folder;
  std::size_t told = 0;
  run_sweep(folder.sweep(), {.jobs = 2,
                             .out = folder("one.csv"),
                             .progress = false,
                             .each = [&](std::size_t place, const SimulatedRow&) { CHECK(place == told++); }});
  CHECK(told == 40);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < 3; ++i) {
    parts.push_back(folder("part" + std::to_string(i) + ".csv"));
    run_sweep(folder.sweep(), {.out = parts.back(), .progress = false, .share = {i, 3}});
  }
  const MergedSweep merged = merge_sweep(folder.sweep(), parts, folder("merged.csv"), false);
  CHECK(merged.missing.empty());
  CHECK(merged.rows == 40);
  CHECK(folder.rows("merged.csv") == folder.rows("one.csv"));
  with_ranks(
      3, [&](int) { return answer_rows(folder.sweep()); },
      [&](Farm& farm) {
        CHECK(run_sweep(folder.sweep(), {.out = folder("farm.csv"), .progress = false, .farm = &farm}).simulated == 40);
      });
  CHECK(folder.rows("farm.csv") == folder.rows("one.csv"));
}
