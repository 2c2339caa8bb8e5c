#include "sim/report/sweep_report.hpp"

#include "tests/catch.hpp"

#include "sim/report/report.hpp"

using namespace allreplay;

namespace {

Row swept_row(std::int64_t workers, const std::string& cap, double iteration_s) {
  Row row;
  for (const Column& column : columns()) {
    Cell cell = 0.5;
    if (column.kind == ColumnKind::Text) cell = "the " + std::string(column.name);
    if (column.kind == ColumnKind::Parts) cell = NamedNumbers();
    row.push_back({column.name, cell});
  }
  const auto set = [&](std::string_view name, const Cell& cell) {
    for (NamedCell& column : row)
      if (column.name == name) column.cell = cell;
  };
  set("workers", workers);
  set("collectives", std::int64_t{3});
  set("codec", {});
  set("origin", std::string("reconstructed"));
  set("fits", {});
  set("options", NamedValues{{"bucket_cap", cap}, {"window", "1"}});
  set("iteration_s", iteration_s);
  set("exposed_comm_s", 0.0);
  set("straggler_s", 0.0);
  set("lower_bound_s", workers == 8 ? Cell() : Cell(iteration_s / 1.25));
  return row;
}

SweepResult result_of(const std::vector<Row>& rows) {
  std::string text = csv_header() + "\n";
  for (const Row& row : rows) text += to_csv(row) + "\n";
  return parse_sweep_result(text, "r.csv");
}

}  // namespace

TEST_CASE("a sweep's table says once what all rows share, and its lines stand in their order") {
  const SweepResult result =
      result_of({swept_row(4, "25 MiB", 0.5), swept_row(4, "1 MB", 0.25), swept_row(8, "1 MB", 0.125)});
  const std::string text = sweep_table(result, {.width = 104});
  CHECK(text ==
        "profile the profile, cluster the cluster (routing the routing), collective the collective, fidelity the\n"
        "  fidelity, codec none, strategy the strategy, window=1\n"
        "\n"
        "workers  iteration  exposed comm.  colls  tokens/s per GPU   MFU  eff.  above bound  options\n"
        "                ms             ms                              %     %            %\n"
        "-----------------------------------------------------------------------------------------------------\n"
        "      4      500.0            0.0      3             0.500  50.0  50.0         25.0  bucket_cap=25MiB\n"
        "      4      250.0            0.0      3             0.500  50.0  50.0         25.0  bucket_cap=1MB\n"
        "      8      125.0            0.0      3             0.500  50.0  50.0            -  bucket_cap=1MB\n");
  CHECK(sweep_verdict(result).starts_with("note: the times of the profile are reconstructed, not measured\n"));
}

TEST_CASE("a sweep's table marks what does not fit into the memory that a row says there is, and ties") {
  Row row = swept_row(4, "1 MB", 0.5);
  const auto set = [&](std::string_view name, const Cell& cell) {
    for (NamedCell& column : row)
      if (column.name == name) column.cell = cell;
  };
  set("memory_bytes", 90e9);
  set("options", NamedValues{{"memory", "80 GB"}});
  const std::string small = sweep_table(result_of({row}));
  CHECK(small.find("90.00!") != std::string::npos);
  CHECK(small.find("!: does not fit into a worker's memory") != std::string::npos);
  set("options", NamedValues{{"memory", "90 GB"}});
  CHECK(sweep_table(result_of({row})).find('!') == std::string::npos);
  const std::string tied = sweep_table(result_of({swept_row(4, "1 MB", 0.5), swept_row(4, "2 MB", 0.505)}));
  CHECK(tied.find("505.0~") != std::string::npos);
  CHECK(tied.find("~: within 2 % of the fastest") != std::string::npos);
}
