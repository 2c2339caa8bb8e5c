#include "sim/output/report/sweep_report.hpp"

#include "tests/catch.hpp"
#include "tests/output/report/results.hpp"

using namespace allreplay;

namespace {

// The names of the strategies in the table, by row.
std::string strategies_in(const std::string& rows) {
  const JsonValue document = sweep_document(sweep_result_of(parse_results(result_header + rows, "r.csv")));
  std::string names;
  for (const JsonValue& row : document.at("rows")) names += row.at("names").at("strategy").get<std::string>() + "; ";
  return names;
}

}  // namespace

TEST_CASE("rows that differ only by options have the options in their names, so that each part of a table has them") {
  CHECK(strategies_in(result_row("p", "fsdp2", 64, 5, "prefetch=1") +
                      result_row("p", "fsdp2", 64, 6, "prefetch=1;shard_group=8") +
                      result_row("p", "fsdp2", 64, 7, "prefetch=1;shard_group=32")) ==
        "fsdp2; fsdp2 (shard_group=8); fsdp2 (shard_group=32); ");
  CHECK(strategies_in(result_row("p", "best", 64, 5) + result_row("p", "best", 64, 6, "zero=1") +
                      result_row("p", "ddp", 64, 6, "bucket_cap=25 MiB")) == "best; best (zero=1); ddp; ");
  // Other columns tell these apart.
  CHECK(strategies_in(result_row("p", "fsdp2", 8, 5, "shard_group=8") +
                      result_row("p", "fsdp2", 64, 6, "shard_group=32")) == "fsdp2; fsdp2; ");
  CHECK(strategies_in(result_row("p", "megatron", 64, 5, "pp=2") + result_row("p", "megatron", 64, 6, "pp=4")) ==
        "megatron; megatron; ");
}
