#include "sim/html/page_title.hpp"

#include "tests/catch.hpp"
#include "tests/report/results.hpp"

using namespace allreplay;

TEST_CASE("a title says profiles, workers, schedules and clusters, and counts what are many") {
  const std::string on_k = row_on("k", "a", 4, 5) + row_on("k", "b", 64, 4);
  CHECK(title_in_words(result_of(on_k)) == "p on 4 to 64 workers: 2 schedules on k");
  CHECK(title_in_words(result_of(row_on("k", "a", 1, 5))) == "p on 1 worker: a on k");
  const SweepResult two = result_of(row_on("k", "a", 8, 5, "ring", "p") + row_on("l", "a", 8, 5, "ring", "q"));
  CHECK(title_in_words(two) == "p and q on 8 workers: a on 2 clusters");
  std::string rows;
  for (const std::string profile : {"p", "q", "r", "s"}) rows += row_on("k", "a", 8, 5, "ring", profile);
  CHECK(title_in_words(result_of(rows)) == "4 profiles on 8 workers: a on k");
}
