#include "sim/html/verdict.hpp"

#include <algorithm>
#include <tuple>

#include "tests/catch.hpp"
#include "tests/html/results.hpp"

using namespace allreplay;

namespace {

using Sentences = std::vector<std::string>;

Sentences verdict_of(const std::string& rows) { return verdict(result_of(rows)); }

}  // namespace

TEST_CASE("one case has no verdict across cases") {
  CHECK(verdict_of(result_row("p", "a", 4, 5) + result_row("p", "b", 8, 4)).empty());
}

TEST_CASE("who is fastest on every cluster is said, with the next and the fastest pair") {
  // The next takes 5 / 4 = 1.25 and 12 / 8 = 1.5 times as long; y at its best takes 8 / 4 = 2 times as long as x.
  CHECK(
      verdict_of(row_on("x", "a", 8, 4) + row_on("x", "b", 8, 5) + row_on("y", "a", 8, 8) + row_on("y", "b", 8, 12)) ==
      Sentences{"With 8 workers, a is fastest on every cluster; the next takes 1.25 to 1.50 times as long.",
                "With 8 workers, the fastest pair is x with a: 4 s an iteration; y takes 2.00 times as long with a."});
}

TEST_CASE("where nobody is fastest everywhere, wins are counted") {
  // z: b and a within 0.1 % (4.002 / 4 = 1.0005), so that both count. The fastest pair is x with a at 3.5 s; the last,
  // z, takes 4 / 3.5 = 1.14 times as long, y 3.6 / 3.5 = 1.029.
  const Sentences sentences =
      verdict_of(row_on("x", "a", 8, 3.5) + row_on("x", "b", 8, 5) + row_on("y", "a", 8, 5) + row_on("y", "b", 8, 3.6) +
                 row_on("z", "a", 8, 4.002) + row_on("z", "b", 8, 4));
  CHECK(sentences ==
        Sentences{"With 8 workers, a is fastest on 2 of 3 clusters and b on 2; those within 0.1 % count, too.",
                  "With 8 workers, the fastest pair is x with a: 3.5 s an iteration; y, the next, takes 2.9 % longer "
                  "with b, and z, the last, takes 1.14 times as long with a and b."});
}

TEST_CASE("cases at other sizes are compared at the largest that most have, and each is won at its own largest") {
  // Both have 8 workers, only x has 16, where b wins.
  CHECK(verdict_of(row_on("x", "a", 8, 4) + row_on("x", "b", 8, 5) + row_on("x", "a", 16, 7) + row_on("x", "b", 16, 5) +
                   row_on("y", "a", 8, 4.2) + row_on("y", "b", 8, 6)) ==
        Sentences{"At the largest size of each, b is fastest on 1 of 2 clusters and a on 1.",
                  "With 8 workers, the fastest pair is x with a: 4 s an iteration; y takes 5.0 % longer with a."});
}

TEST_CASE("profiles, clusters and collectives together are cases, and a cluster stands with its best collective") {
  // In each case b takes twice as long.
  std::string rows;
  for (const auto& [cluster, collective, time] :
       {std::tuple{"x", "ring", 4.0}, {"x", "tree", 3.5}, {"y", "ring", 7.0}, {"y", "tree", 9.0}})
    rows += row_on(cluster, "a", 8, time, collective) + row_on(cluster, "b", 8, 2 * time, collective);
  CHECK(verdict_of(rows) ==
        Sentences{"With 8 workers, a is fastest in all 4 cases (2 clusters, 2 collectives); the next takes 2.00 times "
                  "as long.",
                  "With 8 workers, the fastest pair is x (tree) with a: 3.5 s an iteration; y (ring) takes 2.00 times "
                  "as long with a."});
}

TEST_CASE("collectives on one cluster make pairs, too") {
  CHECK(verdict_of(row_on("x", "a", 8, 4, "ring") + row_on("x", "a", 8, 6, "tree")) ==
        Sentences{"With 8 workers, the fastest pair is ring with a: 4 s an iteration; tree takes 1.50 times as long "
                  "with a."});
}

TEST_CASE("nothing is said where there is nothing to choose") {
  CHECK(verdict_of(row_on("x", "a", 8, 4, "ring", "p") + row_on("x", "a", 8, 4, "ring", "q")).empty());
}

TEST_CASE("the search is left out where there are others") {
  CHECK(verdict_of(row_on("x", "best", 8, 3.5) + row_on("x", "a", 8, 4) + row_on("x", "b", 8, 5) +
                   row_on("y", "best", 8, 3.5) + row_on("y", "a", 8, 4) + row_on("y", "b", 8, 5)) ==
        Sentences{"Besides the search, best: with 8 workers, a is fastest on every cluster; the next takes 1.25 times "
                  "as long.",
                  "With 8 workers, the fastest pair is x with a: 4 s an iteration; y takes as long with a."});
}

TEST_CASE("the fastest pair of each of several profiles is said by its name") {
  std::string rows;
  for (const std::string profile : {"p", "q"})
    for (const auto& [cluster, a, b] : {std::tuple("x", 4., 5.), {"y", 8., 12.}})
      rows += row_on(cluster, "a", 8, a, "ring", profile) + row_on(cluster, "b", 8, b, "ring", profile);
  const Sentences all = verdict_of(rows);
  const std::string pair = "with 8 workers, the fastest pair is x with a: 4 s an iteration; y takes 2.00 times as long";
  for (const std::string profile : {"p", "q"}) {
    INFO(profile);
    CHECK(std::count_if(all.begin(), all.end(),
                        [&](const std::string& one) { return one.starts_with(profile + ": " + pair); }) == 1);
  }
}

TEST_CASE("across cases, what does not fit into memory wins none, and where nothing does is said") {
  const auto on = [](const std::string& cluster, const std::string& strategy, double iteration) {
    return result_row("p", strategy, 8, iteration, limit_80_gb, "measured", cluster);
  };
  CHECK(verdict(
            sized_result({{on("x", "a", 4), 90}, {on("x", "b", 5), 80}, {on("y", "a", 4), 90}, {on("y", "b", 6), 70}}))
            .at(0) == "With 8 workers, b is fastest on every cluster.");
  CHECK(verdict(
            sized_result({{on("x", "a", 4), 90}, {on("x", "b", 5), 80}, {on("y", "a", 4), 90}, {on("y", "b", 6), 81}}))
            .at(0) == "With 8 workers, b is fastest on 1 of 2 clusters; nothing fits into memory on 1.");
  CHECK(verdict(sized_result({{on("x", "a", 4), 90}, {on("y", "a", 4), 90}})).empty());
}
