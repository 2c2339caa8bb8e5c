#include "sim/output/report/table.hpp"

#include <sstream>

#include "tests/catch.hpp"

#include "sim/base/core/text.hpp"

using namespace allreplay;

namespace {

Screen wide(std::size_t width) { return {.width = width}; }

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, width_of(line));
  return widest;
}

// Three strategies with numbers of several kinds, and words at the end.
Table table_of_three() {
  Table table({"strategy", "iteration", "exposed comm.", "efficiency", "options"});
  table.add({"wfbp", cell::seconds(0.5081), cell::seconds(0.1163), cell::percent(0.771), ""});
  table.add({"ddp", cell::seconds(1.5971), cell::seconds(0.0041), cell::percent(0.9), "bucket_cap=25MiB, first=1MiB"});
  table.add({"optimal-merge", cell::seconds(0.3959), cell::seconds(0), cell::percent(1), ""});
  return table;
}

}  // namespace

TEST_CASE("words are aligned left, numbers at their decimal points, with one unit per column") {
  Table table({"name", "time", "size"});
  table.add({"α", cell::seconds(0.0123), cell::count(8)});
  table.add({"beta", cell::seconds(1.2), cell::count(1024)});
  table.add({"-", "none", "-"});
  // The greater of the two is the median: seconds. 12.3 ms have two digits with three decimals.
  CHECK(table.text({}) ==
        "name   time  size\n"
        "          s\n"
        "-----------------\n"
        "α     0.012     8\n"
        "beta  1.200  1024\n"
        "-      none     -\n");
}

TEST_CASE("numbers of very different sizes or kinds have a unit each") {
  Table far({"", "time", "constant"});
  far.add({"a", cell::seconds(1e-6), cell::per_byte(2e-9)});
  far.add({"b", cell::seconds(1), cell::seconds(0.02)});
  CHECK(far.text({}) ==
        "   time  constant\n"
        "-----------------\n"
        "a  1 us    2 ns/B\n"
        "b   1 s     20 ms\n");
}

TEST_CASE("a few numbers that are much larger leave the others their digits") {
  Table slow({"", "iteration", {"exposed", "iteration", false}});
  slow.add({"a", cell::seconds(0.4282), cell::seconds(0.0366)});
  slow.add({"b", cell::seconds(3600), cell::seconds(3599.6)});
  slow.add({"c", cell::seconds(3700), cell::seconds(3699.6)});
  CHECK(slow.text({}) ==
        "   iteration  exposed\n"
        "           s        s\n"
        "---------------------\n"
        "a       0.43     0.04\n"
        "b    3600.00  3599.60\n"
        "c    3700.00  3699.60\n");
  Table slower({"", "time"});
  for (const double seconds : {0.0042, 36.0, 37.0}) slower.add({"a", cell::seconds(seconds)});
  CHECK(slower.text({}) ==
        "     time\n"
        "---------\n"
        "a  4.2 ms\n"
        "a    36 s\n"
        "a    37 s\n");
}

TEST_CASE("a table that does not fit breaks names and texts into lines, and then into tables") {
  const Table table = table_of_three();
  // 13 + 9 + 13 + 10 + 28 and four gaps: 81.
  CHECK(table.text(wide(81)) ==
        "strategy       iteration  exposed comm.  efficiency  options\n"
        "                      ms             ms           %\n"
        "---------------------------------------------------------------------------------\n"
        "wfbp               508.1          116.3        77.1\n"
        "ddp               1597.1            4.1        90.0  bucket_cap=25MiB, first=1MiB\n"
        "optimal-merge      395.9            0.0       100.0\n");
  CHECK(table.text(wide(70)) ==
        "                          exposed\n"
        "strategy       iteration    comm.  efficiency  options\n"
        "                      ms       ms           %\n"
        "----------------------------------------------------------------------\n"
        "wfbp               508.1    116.3        77.1\n"
        "ddp               1597.1      4.1        90.0  bucket_cap=25MiB,\n"
        "                                               first=1MiB\n"
        "optimal-merge      395.9      0.0       100.0\n");
  // Without room for the 17 letters of the longest word, options stand below.
  CHECK(table.text(wide(45)) ==
        "                          exposed\n"
        "strategy       iteration    comm.  efficiency\n"
        "                      ms       ms           %\n"
        "---------------------------------------------\n"
        "wfbp               508.1    116.3        77.1\n"
        "ddp               1597.1      4.1        90.0\n"
        "optimal-merge      395.9      0.0       100.0\n"
        "\n"
        "strategy       options\n"
        "-------------------------------------------\n"
        "ddp            bucket_cap=25MiB, first=1MiB\n");
  for (const std::size_t width : {40, 50, 60, 80, 100, 160}) CHECK(widest_line(table.text(wide(width))) <= width);
}

TEST_CASE("empty columns are omitted") {
  Table table({"profile", "cluster", "bound", "iteration"}, 2);
  table.add({"a profile", "a cluster", "-", cell::seconds(1)});
  CHECK(table.text(wide(80)).find("bound") == std::string::npos);
}

TEST_CASE("a column is written like another, so that their numbers can be added") {
  Table table({"strategy", "iteration", {"exposed", "iteration", false}});
  table.add({"ddp", cell::seconds(0.3959), cell::seconds(0.0001451)});
  CHECK(table.text({}) ==
        "strategy  iteration  exposed\n"
        "                 ms       ms\n"
        "----------------------------\n"
        "ddp           395.9      0.1\n");
}

TEST_CASE("a finer column has the unit of another, and its own decimals") {
  Table table({"strategy", "iteration", {"± 95 %", "iteration", false, true}});
  table.add({"ddp", cell::seconds(0.4399), cell::seconds(54.78e-6)});
  CHECK(table.text({}) ==
        "strategy  iteration  ± 95 %\n"
        "                 ms      ms\n"
        "---------------------------\n"
        "ddp           439.9   0.055\n");
  CHECK(sentence_text(cell::seconds(54.78e-6), cell::seconds(0.4399)) == "0.05478 ms");
}

TEST_CASE("facts are aligned, and long values are wrapped in their column") {
  CHECK(facts({{"name", "x"}, {"source", "two words and more"}}, wide(20)) ==
        "name    x\n"
        "source  two words\n"
        "        and more\n");
}
