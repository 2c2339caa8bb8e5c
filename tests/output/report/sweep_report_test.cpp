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

TEST_CASE("a sweep's finding names the winners of all numbers of workers if they differ") {
  const auto finding = [](const std::string& rows) {
    const JsonValue document = sweep_document(sweep_result_of(parse_results(result_header + rows, "r.csv")));
    const std::string text = rendered(sweep_verdict_view(), document, {.width = 1000});
    const std::size_t from = text.find("By number of workers");
    return from == std::string::npos ? "" : text.substr(from, text.find('\n', from) - from);
  };
  // Seconds of ddp and wfbp; their bound is 3 s.
  const auto sizes = [](const std::vector<std::pair<double, double>>& all) {
    std::string rows;
    int workers = 4;
    for (const auto& [ddp, wfbp] : all) {
      rows += result_row("p", "ddp", workers, ddp) + result_row("p", "wfbp", workers, wfbp);
      workers *= 2;
    }
    return rows;
  };
  CHECK(finding(sizes({{5, 6}, {5, 6}, {5, 6}})) == "");
  CHECK(finding(sizes({{5, 6}})) == "");
  CHECK(finding(sizes({{5, 6}, {5, 6}, {6, 5}, {7, 5}})) == "By number of workers: ddp up to 8 and wfbp from 16 on.");
  CHECK(finding(sizes({{5, 6}, {6, 5}, {6, 5}, {6, 7}})) ==
        "By number of workers: ddp on 4, wfbp on 8 to 16 and ddp on 32.");
  // On 4 workers 100 GB do not fit into 80.
  const SweepResult sized = sized_result(
      {{result_row("p", "fsdp2", 4, 5, limit_80_gb), 100}, {result_row("p", "fsdp2", 8, 5, limit_80_gb), 50}});
  CHECK(rendered(sweep_verdict_view(), sweep_document(sized), {.width = 1000})
            .find("By number of workers: nothing fits on 4 and fsdp2 on 8.") != std::string::npos);
}
