#include "sim/html/summary.hpp"

#include "tests/catch.hpp"
#include "tests/html/results.hpp"

#include "sim/html/fastest.hpp"

using namespace allreplay;

namespace {

std::vector<std::string> sentences(const std::string& rows) {
  return summarize(result_of(rows)).findings.at(0).sentences;
}

}  // namespace

TEST_CASE("the overview counts rows, profiles and strategies") {
  const SweepResult result = result_of(result_row("p", "a", 4, 5) + result_row("q", "b", 8, 4));
  CHECK(summarize(result).overview == "2 rows: 2 profiles on 1 cluster with 4 to 8 workers, under 2 strategies.");
  CHECK(summarize(result).warning.empty());
  CHECK(summarize(result_of(result_row("p", "a", 1, 5))).overview ==
        "1 row: 1 profile on 1 cluster with 1 worker, under a.");
}

TEST_CASE("estimated profiles are warned of, after reconstructed ones") {
  const std::string rows =
      result_row("p", "a", 4, 5, "", "estimated") + result_row("q", "a", 4, 5, "", "reconstructed");
  const std::string warning = summarize(result_of(rows)).warning;
  CHECK(warning.starts_with("q is reconstructed: its layer times are inferred"));
  CHECK(
      warning.ends_with("p is estimated: its layer times are a model's, not measured. What is said here of it holds as "
                        "far as that model does."));
}

TEST_CASE("reconstructed profiles are warned of, once each") {
  const std::string rows = result_row("p", "a", 4, 5, "", "reconstructed") + result_row("q", "a", 4, 5) +
                           result_row("p", "a", 8, 5, "", "reconstructed");
  CHECK(summarize(result_of(rows)).warning.starts_with("p is reconstructed: its layer times are inferred"));
}

TEST_CASE("sizes that follow each other and have a winner in common are told together") {
  // With 4 workers a and b are within 0.1 % (3.001 / 3.0 = 1.0003); with 8, b; with 16, c.
  const std::string rows = result_row("p", "a", 4, 3) + result_row("p", "b", 4, 3.001) + result_row("p", "c", 4, 3.5) +
                           result_row("p", "a", 8, 4) + result_row("p", "b", 8, 3.5) + result_row("p", "c", 8, 3.9) +
                           result_row("p", "a", 16, 9) + result_row("p", "b", 16, 8) + result_row("p", "c", 16, 7.5);
  CHECK(sentences(rows)[0] == "Fastest: b with 4 to 8 workers (a as fast at some); c with 16 workers.");
}

TEST_CASE("the largest size: time, speed-up, distance to the bound and to the slowest") {
  // 3 s of computing in 4 s: efficiency 75 %, speed-up 8 · 0.75 = 6, (4 − 3) / 3 = 33.3 % above the bound; 5 / 4
  // = 1.25.
  CHECK(sentences(result_row("p", "a", 8, 4) + result_row("p", "b", 8, 5))[1] ==
        "With 8 workers, a takes 4 s an iteration: speed-up 6, efficiency 75.0 %, 33.3 % above the lower bound; b, the "
        "slowest, takes 1.25 times as long.");
  // What rounding leaves a picosecond below the bound is not "-0.0 %" above it.
  CHECK(sentences(result_row("p", "a", 8, 2.999999))[1].find(" 0.0 % above") != std::string::npos);
}

TEST_CASE("where efficiency falls below one half") {
  // 3 s of computing: below one half where an iteration takes more than 6 s.
  const std::string rows = result_row("p", "a", 4, 5) + result_row("p", "b", 4, 7) + result_row("p", "c", 4, 5) +
                           result_row("p", "a", 8, 6.1) + result_row("p", "b", 8, 9) + result_row("p", "c", 8, 6);
  CHECK(sentences(rows)[2] ==
        "Efficiency is below 50 % from 4 workers on for b, from 8 workers on for a; never for c.");
  CHECK(sentences(result_row("p", "a", 8, 4))[2] == "Efficiency stays above 50 % up to 8 workers.");
  CHECK(sentences(result_row("p", "a", 8, 7))[2] == "Efficiency is below 50 % for a.");
}

TEST_CASE("the search is not told as the fastest where there are others") {
  CHECK(sentences(result_row("p", "best", 8, 4) + result_row("p", "a", 8, 5) + result_row("p", "b", 8, 6))[0] ==
        "Fastest besides the search, best: a.");
  CHECK(sentences(result_row("p", "best", 8, 4))[0] == "Fastest: best.");
}

TEST_CASE("what does not fit into memory wins nothing, however fast") {
  const SweepResult result = sized_result({{result_row("p", "a", 4, 4, limit_80_gb), 90},
                                           {result_row("p", "b", 4, 5, limit_80_gb), 80},
                                           {result_row("p", "c", 4, 7, limit_80_gb), 90}});
  CHECK(result.groups.at(0).by_workers.at(4) == Rows{1});
  CHECK(fastest_series(result, result.groups[0].by_workers.at(4)) == std::vector<std::string>{"b"});
  const Summary summary = summarize(result);
  CHECK(summary.overview.ends_with(" 2 rows in more memory than a worker has."));
  CHECK(summary.findings.at(0).sentences.at(0) == "Fastest: b.");
  CHECK(summary.findings.at(0).sentences.at(1).find("slowest") == std::string::npos);
  // 3 s of computing: c would be below one half.
  CHECK(summary.findings.at(0).sentences.at(2) == "Efficiency stays above 50 % up to 4 workers.");
}

TEST_CASE("where nothing fits into memory nothing is the fastest") {
  const SweepResult result = sized_result({{result_row("p", "a", 4, 4, limit_80_gb), 90},
                                           {result_row("p", "a", 8, 4, limit_80_gb), 70},
                                           {result_row("p", "b", 8, 5, limit_80_gb), 70}});
  CHECK(summarize(result).findings.at(0).sentences.at(0) ==
        "Fastest: none (nothing fits into memory) with 4 workers; a with 8 workers.");
  const SweepResult none = sized_result({{result_row("p", "a", 4, 4, limit_80_gb), 90}});
  CHECK(summarize(none).findings.at(0).sentences ==
        std::vector<std::string>{"Fastest: none (nothing fits into memory).",
                                 "With 4 workers, nothing fits into memory."});
}
