
#include <algorithm>

#include "tests/catch.hpp"
#include "tests/output/report/results.hpp"

#include "sim/output/html/pages.hpp"

using namespace allreplay;

namespace {

// Returns what `sweep` would write as CSV for a shipped profile and cluster.
Sweep sweep_of(const std::string& config) { return read_sweep({}, result_file("config.json", config)); }
SweepResult swept(const std::string& config) {
  const Sweep sweep = sweep_of(config);
  const std::string out = result_file("swept.csv", "");
  run_sweep(sweep, {.out = out, .progress = false});
  return sweep_result_of(read_results(Files(), out));
}

const std::string config = R"({"name": "x", "profiles": ["googlenet_k80_b32", "resnet50_k80_b16"],
  "clusters": ["k80-10gbe"], "workers": [8, 64], "strategies": ["wfbp", "s-sgd", "optimal-merge"]})";

}  // namespace

TEST_CASE("the fastest and the slowest of the largest size are simulated again, and agree") {
  const SweepResult result = swept(config);
  const ChosenTimelines chosen = choose_timelines({}, result, sweep_of(config), 3);
  CHECK(chosen.left_out == 1);
  REQUIRE(chosen.timelines.size() == 3);
  for (const ChosenTimeline& one : chosen.timelines) {
    const ResultRow& row = result.rows[one.row];
    CHECK(row.workers == 64);
    CHECK(row.strategy == (one.fastest ? "optimal-merge" : "s-sgd"));
    REQUIRE(std::holds_alternative<Outcome>(one.outcome));
    CHECK(std::get<Outcome>(one.outcome).result.metrics.iteration_s == row.iteration_s);
  }
  // A picture for each profile: both rows of one, only the faster of the other.
  const std::string page = report_page(result, chosen, {});
  std::size_t pictures = 0;
  for (std::size_t at = page.find("<figure class=\"wide\">\n<svg"); at != std::string::npos;
       at = page.find("<figure class=\"wide\">\n<svg", at + 1))
    ++pictures;
  CHECK(pictures == 2);
  CHECK(choose_timelines({}, result, sweep_of(config), 0).timelines.empty());
}

TEST_CASE("options and collectives of a row are simulated, too") {
  const std::string options = R"({"profiles": ["googlenet_k80_b32"], "clusters": ["k80-10gbe"], "workers": [64],
    "collectives": ["double-binary-tree"], "strategies": [{"name": "ddp", "bucket_cap": ["1 MiB", "2 MiB"]},
    {"name": "us-byte", "second_phase": "random:7"}, {"name": "bytescheduler", "credit": "5 MB"}, "dear", "best"]})";
  const SweepResult result = swept(options);
  for (const ResultRow& row : result.rows) {
    SweepResult one{.table = result.table, .rows = {row}, .groups = {{{0}, {{64, {{0}, 1}}}}}};
    const ChosenTimelines chosen = choose_timelines({}, one, sweep_of(options), 1);
    INFO(row.series);
    CHECK(std::holds_alternative<Outcome>(chosen.timelines.at(0).outcome));
  }
}

TEST_CASE("rows with codecs are simulated again, too") {
  const std::string codecs = R"({"profiles": ["googlenet_k80_b32"], "clusters": ["k80-10gbe"], "workers": [64],
    "codecs": ["none", "topk", "topk_p102-100", "fp16"], "strategies": ["wfbp", {"name": "mergecomp", "groups": 3}]})";
  const SweepResult result = swept(codecs);
  REQUIRE(result.groups.size() == 1);
  for (const ResultRow& row : result.rows) {
    SweepResult one{.table = result.table, .rows = {row}, .groups = {{{0}, {{64, {{0}, 1}}}}}};
    INFO(row.series);
    CHECK(std::holds_alternative<Outcome>(choose_timelines({}, one, sweep_of(codecs), 1).timelines.at(0).outcome));
  }
}

TEST_CASE("a row that cannot be simulated again has no timeline") {
  const auto has_problem = [](const SweepResult& result) {
    return std::holds_alternative<std::string>(
        choose_timelines({}, result, sweep_of(config), 1).timelines.at(0).outcome);
  };
  SweepResult result = swept(config);
  for (ResultRow& row : result.rows) row.iteration_s *= 2;  // as if the profile had changed since
  CHECK(has_problem(result));
  for (ResultRow& row : result.rows) row.profile = "elsewhere";
  CHECK(has_problem(result));
}

TEST_CASE("names of files are taken from the configuration") {
  const std::string profile =
      result_file("mine.csv", "layer,params,forward_us,backward_us\na,1000,,20\nb,3000000,,40\n");
  const Sweep sweep =
      read_sweep({}, result_file("mine.json", R"({"profiles": [{"profile": ")" + profile +
                                                  R"(", "forward_ratio": 0.5}], "clusters": ["k80-10gbe"],
    "strategies": ["wfbp", "sync-easgd"]})"));
  const std::string out = result_file("mine_out.csv", "");
  run_sweep(sweep, {.out = out, .progress = false});
  const SweepResult result = sweep_result_of(read_results(Files(), out));
  CHECK(std::holds_alternative<Outcome>(choose_timelines({}, result, sweep, 1).timelines.at(0).outcome));
}

TEST_CASE("a row of a sweep is found by all of its names, and by no fewer") {
  const std::string two = R"({"profiles": ["googlenet_k80_b32"], "clusters": ["k80-10gbe", "v100-10gbe"],
    "workers": [8], "strategies": ["wfbp"]})";
  const Sweep sweep = read_sweep({}, result_file("two.json", two));
  SweepResult result = swept(two);
  REQUIRE(result.groups.size() == 2);
  // The first request of the sweep has the strategy and the workers of both rows: the names of the cluster decide.
  const ChosenTimelines chosen = choose_timelines({}, result, sweep, 2);
  REQUIRE(chosen.timelines.size() == 2);
  for (const ChosenTimeline& one : chosen.timelines) {
    REQUIRE(std::holds_alternative<Outcome>(one.outcome));
    CHECK(std::get<Outcome>(one.outcome).result.metrics.iteration_s == result.rows[one.row].iteration_s);
  }
  // Without the column of clusters either request could be meant.
  const auto table = std::make_shared<ResultTable>(*result.table);
  const std::size_t at = table->place("cluster");
  table->columns.erase(table->columns.begin() + static_cast<std::ptrdiff_t>(at));
  for (std::size_t row = 0; row < result.rows.size(); ++row) {
    const Texts all = std::exchange(table->rows[row].cells, {});
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i != at) table->rows[row].cells.push_back(all[i]);
    result.rows[row].line = &table->rows[row];
  }
  const auto before = std::exchange(result.table, table);  // which names of rows still refer to
  for (const ChosenTimeline& one : choose_timelines({}, result, sweep, 2).timelines)
    CHECK(std::holds_alternative<std::string>(one.outcome));
}
