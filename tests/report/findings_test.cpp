#include "sim/report/findings.hpp"

#include <tuple>

#include "tests/catch.hpp"
#include "tests/report/results.hpp"

using namespace allreplay;

namespace {

CaseFinding found(const std::string& rows) { return find(result_of(rows)).cases.at(0); }

using Series = std::vector<std::string>;

}  // namespace

TEST_CASE("sizes that follow each other and have one winner are told together, with who ties") {
  // ddp is a framework's default, wfbp and p3 are not. With 4 workers wfbp is 1 % faster, with 8 ddp is slower by a
  // third; with 16 p3 is the fastest by far.
  const CaseFinding one =
      found(result_row("p", "ddp", 4, 3.03) + result_row("p", "wfbp", 4, 3) + result_row("p", "ddp", 6, 3.5) +
            result_row("p", "wfbp", 6, 4) + result_row("p", "ddp", 8, 4) + result_row("p", "wfbp", 8, 3) +
            result_row("p", "p3", 16, 7.5) + result_row("p", "wfbp", 16, 8));
  REQUIRE(one.winners.size() == 3);
  CHECK(one.winners[0].series == "ddp");
  CHECK((one.winners[0].from == 4 && one.winners[0].to == 6));
  CHECK(one.winners[0].ties == Series{"wfbp"});
  CHECK(one.winners[1].series == "wfbp");
  CHECK(one.winners[1].ties.empty());
  CHECK(one.winners[2].series == "p3");
  CHECK(one.largest == 16);
}

TEST_CASE("rows of other micro-batches race by equal work, not by iterations") {
  // 4 micro-batches in 13 s are 3.25 s each; one alone takes 4 s, 4 / 3.25 = 1.23 times as long.
  const SweepResult result = result_of(result_row("p", "ddp", 8, 4) + result_row("p", "ddp", 8, 13, "accumulate=4"));
  const CaseFinding one = find(result).cases.at(0);
  CHECK(one.winners.at(0).series == "ddp (accumulate=4)");
  CHECK(one.per_sample);
}

TEST_CASE("the largest size: the winner, and the slowest where it is no tie") {
  const CaseFinding one = found(result_row("p", "a", 8, 4) + result_row("p", "b", 8, 5) + result_row("p", "a", 4, 1));
  CHECK(one.best == 0);
  CHECK(one.slowest == 1);
  CHECK_FALSE(found(result_row("p", "a", 8, 4)).slowest);
}

TEST_CASE("where efficiency falls below one half") {
  // 3 s of computing: below one half where an iteration takes more than 6 s.
  const CaseFinding one = found(result_row("p", "a", 4, 5) + result_row("p", "b", 4, 7) + result_row("p", "c", 4, 5) +
                                result_row("p", "a", 8, 6.1) + result_row("p", "b", 8, 9) + result_row("p", "c", 8, 6));
  CHECK(one.below_half == std::map<std::int64_t, Series>{{4, {"b"}}, {8, {"a"}}});
  CHECK(one.never_below == Series{"c"});
  CHECK(found(result_row("p", "a", 8, 4)).below_half.empty());
}

TEST_CASE("what does not fit into memory wins nothing, however fast") {
  const SweepResult result = sized_result({{result_row("p", "a", 4, 4, limit_80_gb), 90},
                                           {result_row("p", "b", 4, 5, limit_80_gb), 80},
                                           {result_row("p", "c", 4, 7, limit_80_gb), 90}});
  CHECK(result.groups.at(0).by_workers.at(4).rows == Rows{1});
  const CaseFinding one = find(result).cases.at(0);
  CHECK(one.winners.at(0).series == "b");
  CHECK_FALSE(one.slowest);
  CHECK(one.below_half.empty());  // 3 s of computing: c would be
}

TEST_CASE("where nothing fits into memory nothing wins") {
  const SweepResult result = sized_result({{result_row("p", "a", 4, 4, limit_80_gb), 90},
                                           {result_row("p", "a", 8, 4, limit_80_gb), 70},
                                           {result_row("p", "b", 8, 5, limit_80_gb), 70}});
  CHECK(find(result).cases.at(0).winners.at(0).series.empty());
  CHECK(find(result).cases.at(0).winners.at(1).series == "a");
  CHECK_FALSE(find(sized_result({{result_row("p", "a", 4, 4, limit_80_gb), 90}})).cases.at(0).best);
}

TEST_CASE("scaling is relative to the fewest workers on which the winner of the most is known to fit") {
  // By 3 s of computing: on 8 of them 3 / 5 = 60 %, on 16 3 / 6 = 50 %, which is 5 / 6 = 83.3 % of that.
  const auto sized = [](const std::string& strategy, const std::string& options) {
    return sized_result({{result_row("p", strategy, 4, 4, options), 90},
                         {result_row("p", strategy, 8, 5, options), 70},
                         {result_row("p", strategy, 16, 6, options), 60}});
  };
  const SweepResult sharded = sized("fsdp2", limit_80_gb);
  CHECK(sharded.groups.at(0).reference_workers == 8);
  CHECK(sharded.rows.at(2).relative_efficiency == Approx(5.0 / 6));
  // What shards nothing holds as much on one worker; and without a limit all fits there.
  for (const SweepResult& whole : {sized("ddp", limit_80_gb), sized("fsdp2", "")}) {
    CHECK(whole.groups.at(0).reference_workers == 1);
    CHECK(whole.rows.at(2).relative_efficiency == Approx(0.5));
  }
  CHECK(sized("ddp", "memory=80 GB;zero=1").groups.at(0).reference_workers == 8);
}

namespace {

SweepFindings across(const std::string& rows) { return find(result_of(rows)); }

std::string wins(const SweepFindings& all) {
  std::string text;
  for (const auto& [series, cases] : all.wins) text += series + " " + std::to_string(cases) + ";";
  return text;
}

// The clusters, or collectives, of the winners.
Series places(const SweepResult& result, const PlaceFinding& found) {
  Series names;
  for (const std::size_t row : found.winners)
    names.push_back(result.rows[row].cluster + " " + result.rows[row].collective + " " + result.rows[row].series);
  return names;
}

}  // namespace

TEST_CASE("wins are counted over the cases at their largest sizes, and the margins of those that have a next") {
  // The next takes 5 / 4 = 1.25 and 12 / 8 = 1.5 times as long.
  const std::string rows =
      row_on("x", "a", 8, 4) + row_on("x", "b", 8, 5) + row_on("y", "a", 8, 8) + row_on("y", "b", 8, 12);
  const SweepFindings all = across(rows);
  CHECK(wins(all) == "a 2;");
  CHECK(all.margins == std::vector<double>{1.25, 1.5});
  CHECK_FALSE(all.ties);
  // At x's largest size, 16, b wins.
  CHECK(wins(across(rows + row_on("x", "a", 16, 7) + row_on("x", "b", 16, 5))) == "b 1;a 1;");
  CHECK(across(rows + row_on("z", "b", 8, 4) + row_on("z", "a", 8, 4.05)).ties);
}

TEST_CASE("the fastest place of a profile is found at the largest size that most have") {
  // Both have 8 workers, only x has 16.
  const SweepResult result = result_of(row_on("x", "a", 8, 4) + row_on("x", "b", 8, 5) + row_on("x", "a", 16, 7) +
                                       row_on("x", "b", 16, 5) + row_on("y", "a", 8, 4.2) + row_on("y", "b", 8, 6));
  const SweepFindings all = find(result);
  REQUIRE(all.places.size() == 1);
  CHECK(all.places[0].workers == 8);
  CHECK(places(result, all.places[0]) == Series{"x ring a", "y ring a"});
}

TEST_CASE("a cluster stands with its best collective; on one cluster collectives are the places") {
  std::string rows;
  for (const auto& [cluster, collective, time] :
       {std::tuple{"x", "ring", 4.0}, {"x", "tree", 3.5}, {"y", "ring", 7.0}, {"y", "tree", 9.0}})
    rows += row_on(cluster, "a", 8, time, collective) + row_on(cluster, "b", 8, 2 * time, collective);
  const SweepResult both = result_of(rows);
  CHECK(places(both, find(both).places.at(0)) == Series{"x tree a", "y ring a"});
  const SweepResult one = result_of(row_on("x", "a", 8, 4, "ring") + row_on("x", "a", 8, 6, "tree"));
  CHECK(places(one, find(one).places.at(0)) == Series{"x ring a", "x tree a"});
  CHECK(find(one).wins.empty());  // there was nothing to choose
}

TEST_CASE("across cases, what does not fit into memory wins none") {
  const auto on = [](const std::string& cluster, const std::string& strategy, double iteration) {
    return result_row("p", strategy, 8, iteration, limit_80_gb, "measured", cluster);
  };
  const auto of = [&](int last) {
    return find(
        sized_result({{on("x", "a", 4), 90}, {on("x", "b", 5), 80}, {on("y", "a", 4), 90}, {on("y", "b", 6), last}}));
  };
  CHECK(wins(of(70)) == "b 2;");
  CHECK(wins(of(81)) == "b 1;");
  CHECK(of(81).none_fits == 1);
}
