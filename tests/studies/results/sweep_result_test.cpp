#include "sim/studies/results/sweep_result.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/output/report/results.hpp"

using namespace allreplay;

TEST_CASE("rows of one profile, cluster, collective and fidelity are a group, by workers and speed") {
  const SweepResult result =
      result_of(result_row("p", "a", 8, 5) + result_row("q", "a", 8, 4) + result_row("p", "b", 8, 4) +
                result_row("p", "a", 4, 3) + result_row("p", "c", 8, 4));
  REQUIRE(result.groups.size() == 2);
  CHECK(result.groups[0].rows == std::vector<std::size_t>{0, 2, 3, 4});
  CHECK(result.groups[0].by_workers.at(8).rows ==
        std::vector<std::size_t>{2, 4, 0});  // equals in the order of the file
  CHECK(result.groups[1].rows == std::vector<std::size_t>{1});
  CHECK(result.rows[0].line->line == 2);
  CHECK_FALSE(result.rows[0].line->cells[16] != "");  // samples_per_s may be empty
}

TEST_CASE("a series is named with the options that tell it from others of its strategy") {
  const SweepResult result = result_of(
      result_row("p", "u", 8, 5, "partition=1 MB;credit=4") + result_row("p", "u", 8, 4, "partition=4 MB;credit=4") +
      result_row("p", "d", 8, 4, "bucket_cap=25 MiB") + result_row("p", "d", 4, 4, "bucket_cap=25 MiB") +
      result_row("p", "e", 8, 4, "first=1") + result_row("p", "e", 8, 4));
  CHECK(result.rows[0].series == "u (partition=1 MB)");
  CHECK(result.rows[1].series == "u (partition=4 MB)");
  CHECK(result.rows[2].series == "d");
  CHECK(result.rows[4].series == "e (first=1)");  // given to one, left out by the other
  CHECK(result.rows[5].series == "e");
}

namespace {

// The same rows with one more column at the end, as a version might write that knows more.
SweepResult with_column(const std::string& rows, const std::string& name, const std::vector<std::string>& cells) {
  std::string text = result_header + rows;
  std::size_t at = 0;
  for (const std::string& cell : [&] {
         std::vector<std::string> all{name};
         all.insert(all.end(), cells.begin(), cells.end());
         return all;
       }()) {
    at = text.find('\n', at);
    text.insert(at, "," + cell);
    at += cell.size() + 2;
  }
  return sweep_result_of(read_results(Files(), result_file("column.csv", text)));
}

}  // namespace

TEST_CASE("an unknown column distinguishes rows like an option") {
  const SweepResult result =
      with_column(result_row("p", "a", 8, 5) + result_row("p", "a", 8, 4), "moon", {"full", "new"});
  CHECK(result.rows[0].series == "a (moon=full)");
  CHECK(result.rows[1].series == "a (moon=new)");
}

TEST_CASE("codecs are compared in one group, whatever collectives they bring") {
  std::string rows = result_row("p", "a", 8, 5) + result_row("p", "a", 8, 4) + result_row("p", "a", 8, 3);
  rows.replace(rows.rfind(",ring,"), 6, ",topk-allgather,");
  const SweepResult result = with_column(rows, "codec", {"", "fp16", "topk"});
  REQUIRE(result.groups.size() == 1);
  CHECK(result.rows[0].series == "a");
  CHECK(result.rows[1].series == "a + fp16");
  CHECK(result.rows[2].series == "a + topk");
}

TEST_CASE("errors in a CSV name its line and column") {
  const auto place = [](const std::string& text) {
    return std::filesystem::path(
               error_place([&] { sweep_result_of(read_results(Files(), result_file("bad.csv", text))); }))
        .filename()
        .string();
  };
  const std::string good = result_row("p", "a", 8, 5);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return result_header + good + text.replace(text.find(from), from.size(), to);
  };
  CHECK(place(result_header + good).empty());
  CHECK(place("") == "bad.csv");
  CHECK(place(result_header) == "bad.csv");
  CHECK(place("profile,cluster\nx,y\n") == "bad.csv: line 1");
  CHECK(place("profile,profile\nx,y\n") == "bad.csv: line 1");
  CHECK(place(result_header + good + "p,c\n") == "bad.csv: line 3");
  for (const char* time : {"fast", "-1", "0", ""})
    CHECK(place(with("5.000000", time)) == "bad.csv: line 3: iteration_s");
  CHECK(place(with(",8,", ",0,")) == "bad.csv: line 3: workers");
  CHECK(place(with(",,3,,", ",,3,cap,")) == "bad.csv: line 3: options");
}
