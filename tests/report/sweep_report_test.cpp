#include "sim/report/sweep_report.hpp"

#include "tests/catch.hpp"

#include "sim/report/report.hpp"

using namespace allreplay;

namespace {

Row swept_row(std::int64_t workers, const std::string& cap, double iteration_s) {
  Row row;
  for (const ColumnRow& column : columns()) {
    Cell cell = 0.5;
    if (column.kind == ColumnKind::Text) cell = "the " + std::string(column.name);
    if (column.kind == ColumnKind::Parts) cell = NamedNumbers();
    row.push_back({column.name, cell});
  }
  const auto set = [&](std::string_view name, const Cell& cell) {
    for (Column& column : row)
      if (column.name == name) column.cell = cell;
  };
  set("workers", workers);
  set("collectives", std::int64_t{3});
  set("codec", {});
  set("origin", std::string("reconstructed"));
  set("options", NamedValues{{"bucket_cap", cap}, {"window", "1"}});
  set("iteration_s", iteration_s);
  set("exposed_comm_s", 0.0);
  set("lower_bound_s", workers == 8 ? Cell() : Cell(iteration_s / 1.25));
  return row;
}

}  // namespace

TEST_CASE("a sweep's table says once what all rows share, and its lines stand in their order") {
  SweepTable in_order, backwards;
  const Row rows[] = {swept_row(4, "25 MiB", 0.5), swept_row(4, "1 MB", 0.25), swept_row(8, "1 MB", 0.125)};
  for (std::size_t i = 0; i < 3; ++i) in_order.add(i, rows[i]);
  for (std::size_t i = 3; i-- > 0;) backwards.add(i, rows[i]);
  const std::string text = in_order.text();
  CHECK(text == backwards.text());
  // The columns in full are wider than 80.
  CHECK(text ==
        "profile the profile, cluster the cluster, collective the collective, fidelity\n"
        "  the fidelity, codec none, strategy the strategy, window=1\n"
        "\n"
        "                    exposed  collec-  speed-   effi-  above\n"
        "workers  iteration    comm.    tives      up  ciency  bound  options\n"
        "                ms       ms                        %      %\n"
        "-----------------------------------------------------------------------------\n"
        "      4      500.0      0.0        3    0.50    50.0   25.0  bucket_cap=25MiB\n"
        "      4      250.0      0.0        3    0.50    50.0   25.0  bucket_cap=1MB\n"
        "      8      125.0      0.0        3    0.50    50.0      -  bucket_cap=1MB\n"
        "note: the times of the profile are reconstructed, not measured\n");
}

TEST_CASE("a sweep's table marks what does not fit into the memory that a row says there is") {
  Row row = swept_row(4, "1 MB", 0.5);
  for (Column& column : row) {
    if (column.name == "memory_bytes") column.cell = 90e9;
    if (column.name == "options") column.cell = NamedValues{{"memory", "80 GB"}};
  }
  SweepTable small, enough;
  small.add(0, row);
  CHECK(small.text().find("90.00!") != std::string::npos);
  CHECK(small.text().find("! does not fit into the memory of a worker") != std::string::npos);
  for (Column& column : row)
    if (column.name == "options") column.cell = NamedValues{{"memory", "90 GB"}};
  enough.add(0, row);
  CHECK(enough.text().find('!') == std::string::npos);
}
