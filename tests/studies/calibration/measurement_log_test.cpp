#include "sim/studies/calibration/measurement_log.hpp"

#include <cmath>
#include <regex>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/studies/calibration/logs.hpp"

#include "sim/studies/calibration/log_text.hpp"

using namespace allreplay;
using namespace test_logs;

namespace measurement_log_test {

namespace {

const std::vector<Bytes> sizes = doublings(8, 1 << 20);

double law(Bytes bytes) { return 30e-6 + 0.5e-9 * static_cast<double>(bytes); }

MeasurementLog read(const std::string& text, std::int64_t workers = 0, const std::string& time = "",
                    const std::string& format = "") {
  return read_measurements(text, "f",
                           {{format, {"c", "--format"}}, {time, {"c", "--time"}}, {workers, {"c", "--workers"}}});
}

std::string complaint(const std::string& text, std::int64_t workers = 0, const std::string& time = "") {
  return error_place([&] { read(text, workers, time); });
}

// That the log has all sizes, and times by the law times `factor`.
void check_law(const MeasurementLog& log, double factor = 1) {
  REQUIRE(log.points.size() == sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    CHECK(log.points[i].bytes == sizes[i]);
    CHECK(log.points[i].seconds == Approx(factor * law(sizes[i])).epsilon(1e-10));
  }
}

}  // namespace

TEST_CASE("nccl-tests: ranks, benchmark and both blocks") {
  const std::string text = nccl_tests(sizes, law, 8);
  const MeasurementLog log = read(text);
  CHECK(log.format == "nccl-tests");
  CHECK(log.benchmark == "all_reduce_perf");
  CHECK(log.operation == CollectiveOp::AllReduce);
  CHECK(log.workers == 8);
  CHECK(log.time == "out-of-place");
  check_law(log);
  check_law(read(text, 0, "in-place"), 1.1);
}

TEST_CASE("nccl-tests: older layouts have no root, no redop, no Group, and call errors so") {
  std::string text = nccl_tests(sizes, law, 4);
  text = std::regex_replace(text, std::regex("    root| +-1(?= )"), "");
  text = std::regex_replace(text, std::regex("#wrong"), "error");
  text = std::regex_replace(text, std::regex(" Group  0"), "");
  check_law(read(text));
  CHECK(read(text).workers == 4);
  text = std::regex_replace(text, std::regex("   redop|    sum"), "");
  check_law(read(text));
}

TEST_CASE("nccl-tests: a log that names no benchmark tells it by its rates") {
  // With 8 ranks busbw is 14/8 of algbw for an all-reduce, 7/8 for its halves, 1 for a broadcast.
  const auto text = [](const std::string& reduction, double factor, double algbw = 40) {
    return fmt::format(
        "{}{}# size count type redop time algbw busbw error time algbw busbw error\n"
        "8 2 float {} 10 0.00 0.00 5e-07 10 0.00 0.00 5e-07\n"
        "4000000 1000000 float {} 100 {:.2f} {:.2f} 5e-07 100 {:.2f} {:.2f} 5e-07\n",
        "# Using devices\n",
        [] {
          std::string ranks;
          for (int rank = 0; rank < 8; ++rank)
            ranks += fmt::format("#   Rank  {} Pid {} on box device {} [0x10] GPU\n", rank, rank + 10, rank);
          return ranks;
        }(),
        reduction, reduction, algbw, algbw * factor, algbw, algbw * factor);
  };
  const auto log = [&](const std::string& reduction, double factor) { return read(text(reduction, factor)); };
  CHECK(log("sum", 1.75).operation == CollectiveOp::AllReduce);
  CHECK(log("sum", 0.875).operation == CollectiveOp::ReduceScatter);
  CHECK(log("none", 1).operation == CollectiveOp::Broadcast);
  CHECK(complaint(text("sum", 1.3)) == "f");
  // An all-gather and an all-to-all have equal rates and no reduction: the user says which, and nothing else.
  const auto asked = [&](CollectiveOp op, double algbw = 40) {
    LogRequest request{.operation = {op, {"c", "--collective"}}};
    return read_measurements(text("none", 0.875, algbw), "f", request);
  };
  CHECK(complaint(text("none", 0.875)) == "f");
  for (const CollectiveOp op : {CollectiveOp::AllGather, CollectiveOp::AllToAll}) CHECK(asked(op).operation == op);
  for (const CollectiveOp op : {CollectiveOp::AllReduce, CollectiveOp::Broadcast})
    CHECK(error_place([&] { asked(op); }) == "c: --collective");
  // Rates without digits, here of a time of 0, tell less: only that nothing was reduced.
  CHECK(complaint(text("none", 1, INFINITY)) == "f");
  CHECK(asked(CollectiveOp::Broadcast, INFINITY).operation == CollectiveOp::Broadcast);
  CHECK_FALSE(read(text("sum", 1, INFINITY)).operation);
  CHECK(log("sum", 1.75).notes.empty());  // `error` is a deviation, not a count of what is wrong
}

TEST_CASE("CSV: a column of collectives") {
  const std::string both = "collective,workers,bytes,time_us\nall-reduce,8,8,1\nall-gather,8,8,2\nall-reduce,8,16,3\n";
  CHECK(complaint(both) == "f");
  LogRequest request;
  request.operation = CollectiveOp::AllGather;
  const MeasurementLog gathered = read_measurements(both, "f", request);
  CHECK(gathered.operation == CollectiveOp::AllGather);
  CHECK(gathered.points.size() == 1);
  CHECK(gathered.notes.size() == 1);
  CHECK(read("collective,bytes,time_us\nbroadcast,8,1\nbroadcast,16,1\n", 4).operation == CollectiveOp::Broadcast);
  CHECK(complaint("collective,bytes,time_us\nall-to-all,8,1\n", 4) == "f: line 2");
}

TEST_CASE("launchers write before every line") {
  for (const std::string prefix : {"host-3: [1,0]<stdout>:", "[1,0]<stdout>:", "[1,12]<stdout>: ", "0: ", "gpu-box-1: ",
                                   "[2024-01-31 12:00:00] "}) {
    CAPTURE(prefix);
    const MeasurementLog log = read(prefixed(nccl_tests(sizes, law, 8), prefix));
    CHECK(log.workers == 8);
    check_law(log);
    check_law(read(prefixed(osu(sizes, law), prefix), 8));
  }
}

TEST_CASE("a line of many hashes or prefixes takes no longer than others of its length") {
  for (const char* word : {"#", "# ", "[1,0]<stderr>:", "[a: "}) {
    std::string line;
    for (int i = 0; i < 100'000; ++i) line += word;
    check_law(read(line + "\n" + nccl_tests(sizes, law, 8)));
  }
}

TEST_CASE("every line may have a prefix of the same form") {
  // Digits count up from line to line, as in time stamps.
  for (const std::string prefix : {"2024-01-31T12:00:00.%Z ", "(head, rank=0, pid=%) ", "> ", ">", "%:", "  %\t",
                                   "nccl-1  | ", "INFO:2024-01-31 % - "}) {
    CAPTURE(prefix);
    const auto counted = [&](const std::string& text) {
      std::string all;
      int line = 995;  // the number of digits changes, too
      for (const std::string_view one : lines_of(text)) {
        std::string before = prefix;
        if (const std::size_t at = before.find('%'); at != before.npos) before.replace(at, 1, std::to_string(++line));
        all += before + std::string(one) + "\n";
      }
      return all;
    };
    const MeasurementLog log = read(counted(nccl_tests(sizes, law, 8)));
    CHECK(log.workers == 8);
    check_law(log);
    check_law(read(counted(osu(sizes, law)), 8));
  }
}

TEST_CASE("Markdown writes a backslash before the headers") {
  for (std::string text : {nccl_tests(sizes, law, 8), osu(sizes, law)}) {
    for (std::size_t at = 0; (at = text.find("\n#", at)) != text.npos; at += 3) text.insert(at + 1, "\\");
    if (text.starts_with('#')) text.insert(0, "\\");
    check_law(read(text, 8));
    check_law(read(prefixed(text, "> "), 8));
  }
}

TEST_CASE("NCCL's messages may be between lines, and within them") {
  // A host may end in a letter: what follows its colon is the pid all the same.
  const std::string host = GENERATE(Catch::Generators::as<std::string>{}, "gpu-box-1", "gpu-box");
  const std::string info = host + ":4000:4123 [3] NCCL INFO Channel 00/0 : 3[3] -> 0[0] via P2P/CUMEM size 8 float\n";
  CAPTURE(host);
  std::string text;
  int row = 0;
  for (const std::string& line : [] {
         std::vector<std::string> lines;
         std::string all = nccl_tests(sizes, law, 8);
         for (std::size_t end; (end = all.find('\n')) != all.npos; all.erase(0, end + 1))
           lines.push_back(all.substr(0, end + 1));
         return lines;
       }()) {
    const std::size_t cut = line.find(" -1 ");
    if (line[0] == '#' || cut == line.npos || ++row % 3 != 0)
      text += info + line;
    else  // a row is printed in pieces: other ranks' messages come between them
      text += line.substr(0, cut + 3) + info + info + line.substr(cut + 3);
  }
  const MeasurementLog log = read(text);
  CHECK(log.workers == 8);
  check_law(log);
  check_law(read(prefixed(text, "[1,0]<stdout>:")));
}

TEST_CASE("nccl-tests: checks that were off, wrong results and empty rows") {
  std::string unchecked = std::regex_replace(nccl_tests(sizes, law, 8), std::regex("      0(?=[ \n])"), "    N/A");
  check_law(read(unchecked));
  CHECK(read(unchecked).notes.empty());
  std::string wrong = nccl_tests(sizes, law, 8);
  wrong.replace(wrong.find("      0", wrong.find("sum")), 7, "      3");
  CHECK(read(wrong).notes.size() == 1);
  std::vector<Bytes> with_zero = sizes;
  with_zero.insert(with_zero.begin(), {0, 0});
  const MeasurementLog log = read(nccl_tests(with_zero, law, 8));
  CHECK(log.notes.size() == 1);
  check_law(log);
}

TEST_CASE("nccl-tests: rows without in-place measurements") {
  const std::string text =
      std::regex_replace(nccl_tests(sizes, law, 8), std::regex(" {2} +[0-9.]+ +[0-9.]+ +[0-9.]+ +0\n"),
                         "     N/A     N/A     N/A    N/A\n");
  check_law(read(text));
  CHECK(complaint(text, 0, "in-place") == "f: line 17");
}

TEST_CASE("nccl-tests: columns are found by their names") {
  std::string text = std::regex_replace(nccl_tests(sizes, law, 8), std::regex("(#wrong)\n"), "$1 #iters\n");
  text = std::regex_replace(text, std::regex("( float .* 0)\n"), "$1     20\n");
  check_law(read(text));
  CHECK(read(text).workers == 8);
  // A column between the two blocks moves only the second.
  text = std::regex_replace(nccl_tests(sizes, law, 8), std::regex("#wrong     time"), "#wrong #iters     time");
  text = std::regex_replace(text, std::regex("( float .*? 0  )( +[0-9.]+ +[0-9.]+ +[0-9.]+ +0\n)"), "$1 20 $2");
  check_law(read(text));
}

TEST_CASE("nccl-tests: a shortened list of ranks") {
  std::string text = nccl_tests(sizes, law, 8);
  const std::size_t third = text.find("#  Rank  2");
  text.replace(third, text.find("#  Rank  6") - third, "...\n");
  const MeasurementLog log = read(text);
  CHECK(log.workers == 8);
  CHECK(log.per_host == 0);  // four of them are on hosts that the log does not show
  CHECK(log.notes.size() == 1);
  CHECK(read(text, 8).workers == 8);
  // Without rank 7 the list says 7 workers, busbw says 8: 2 * 7 / 8 = 1.75 algbw, where 7 workers have 12 / 7 = 1.71.
  const std::size_t last = text.find("#  Rank  7");
  text.erase(last, text.find('\n', last) + 1 - last);
  CHECK(read(text).workers == 8);
  CHECK(read(text, 8).workers == 8);
}

TEST_CASE("nccl-tests: a list of ranks that ends early, or is absent") {
  std::string text = nccl_tests(sizes, law, 8);
  const std::size_t fifth = text.find("#  Rank  5");
  text.erase(fifth, text.find("#\n", fifth) - fifth);
  CHECK(read(text).workers == 8);  // five would have 2 * 4 / 5
  CHECK(read(text).notes.size() == 1);
  CHECK(read(text, 8).workers == 8);
  CHECK(complaint(text, 5) == "c: --workers");
  CHECK(complaint(text, 16) == "c: --workers");  // 2 * 15 / 16
  const std::string unnamed = text.substr(text.find('\n') + 1);
  CHECK(read(unnamed).workers == 8);
  CHECK(read(unnamed).operation == CollectiveOp::AllReduce);
  CHECK(complaint(unnamed, 5) == "c: --workers");
  text.erase(text.find("#  Rank  0"), text.find("#\n", text.find("#  Rank  0")) - text.find("#  Rank  0"));
  CHECK(read(text, 8).workers == 8);
  CHECK(read(text).workers == 8);
  CHECK(complaint(text, 4) == "c: --workers");  // 2 * 3 / 4
}

TEST_CASE("nccl-tests: the ratio tells the workers as far as its digits do") {
  const auto log = [](std::int64_t workers, double algbw, const std::string& redop = "sum", double parts = 2) {
    const double ratio = parts * static_cast<double>(workers - 1) / static_cast<double>(workers);
    return fmt::format(
        "#  Rank  0 Group  0 Pid 1 on a device 0\n#  Rank  1 Group  0 Pid 2 on a device 1\n# ...\n"
        "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
        "1000000000 250000000 float {} -1 {:.3f} {:.2f} {:.2f} 0 1 1 1 0\n",
        redop, 1e6 / algbw, algbw, algbw * ratio);
  };
  CHECK(read(log(64, 357.99)).workers == 64);
  CHECK(read(log(64, 357.99)).operation == CollectiveOp::AllReduce);
  CHECK(read(log(64, 357.99, "sum", 1)).operation == CollectiveOp::ReduceScatter);
  // 2 * 1023/1024 of 1.5 GB/s is 3.00, and so it is of 512 workers.
  CHECK(complaint(log(1024, 1.5)) == "f");
  CHECK(read(log(1024, 1.5), 1024).workers == 1024);
  CHECK(read(log(1024, 1.5), 512).workers == 512);
  CHECK(complaint(log(1024, 1.5), 8) == "c: --workers");
}

TEST_CASE("nccl-tests: the time of a row is that of its rate") {
  // 1 GB in 1 s is 1 GB/s; a row that says 2 has the columns of another table.
  const auto row = [](const std::string& time, const std::string& algbw) {
    return "# all_reduce_perf\n# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
           "1000000000 250000000 float sum -1 " +
           time + " " + algbw + " 1.00 0 " + time + " " + algbw + " 1.00 0\n";
  };
  CHECK(read(row("1000000", "1.00"), 2).points.size() == 1);
  CHECK(read(row("1004000", "1.00"), 2).points.size() == 1);  // 0.996
  CHECK(complaint(row("1000000", "2.00"), 2) == "f: line 3");
}

TEST_CASE("nccl-tests: groups, repeated runs, and processes that did not run together") {
  std::string groups = nccl_tests(sizes, law, 8);
  for (int rank = 4; rank < 8; ++rank) {
    const std::string name = fmt::format("Rank  {} Group  0", rank);
    groups.replace(groups.find(name), name.size(), fmt::format("Rank  {} Group  1", rank));
  }
  CHECK(read(groups).workers == 4);
  CHECK(read(nccl_tests(sizes, law, 8) + nccl_tests(sizes, law, 8)).points.size() == 2 * sizes.size());
  CHECK(complaint(nccl_tests(sizes, law, 8) + nccl_tests(sizes, law, 4)) == "f: line 50");
  const std::string alone = nccl_tests(sizes, law, 1);
  CHECK(complaint(alone) == "f");
  const std::string head = alone.substr(0, alone.find("#       size"));
  CHECK(complaint(head + alone) == "f: line 12");
}

TEST_CASE("OSU: columns, tags and the missing number of workers") {
  const MeasurementLog log = read(osu(sizes, law, true), 16);
  CHECK(log.format == "osu");
  CHECK(log.benchmark == "MPI Allreduce");
  CHECK(log.workers == 16);
  check_law(log);
  check_law(read(osu(sizes, law, true), 16, "min"), 0.98);
  check_law(read(osu(sizes, law, true), 16, "max"), 1.03);
  CHECK(complaint(osu(sizes, law)) == "f");
  CHECK(complaint(osu(sizes, law), 8, "min") == "c: --time");
  // Two logs of one file, each row named after its workers.
  std::string tagged = "# Size       Avg Latency(us)\n";
  for (const int workers : {2, 8})
    for (const Bytes size : sizes)
      tagged += fmt::format("{},{:<8} {:>20.12g}\n", workers, size, law(size) * 1e6 * workers);
  check_law(read(tagged, 8), 8);
  check_law(read(tagged, 2), 2);
  CHECK(complaint(tagged) == "f");
  CHECK(complaint(tagged, 4) == "c: --workers");
}

TEST_CASE("nccl-tests: all-to-alls and sends") {
  const MeasurementLog pairs = read(nccl_tests(sizes, law, 8, "float", "alltoall_perf"));
  CHECK(pairs.operation == CollectiveOp::AllToAll);
  check_law(pairs);
  const MeasurementLog sends = read(nccl_tests(sizes, law, 8, "float", "sendrecv_perf"));
  CHECK(sends.operation == CollectiveOp::Send);
  CHECK(sends.workers == 8);
  check_law(sends);
}

TEST_CASE("Intel MPI Benchmarks: columns by name, numbers of processes") {
  const std::string text = imb("Allreduce", sizes, law, 2) + imb("Allreduce", sizes, law, 4);
  const MeasurementLog log = read(text, 4);
  CHECK(log.format == "imb");
  CHECK(log.benchmark == "IMB Allreduce");
  CHECK(log.operation == CollectiveOp::AllReduce);
  CHECK(log.workers == 4);
  check_law(log);
  check_law(read(text, 2, "min"), 0.98);
  check_law(read(text, 2, "max"), 1.03);
  CHECK(complaint(text) == "f");
  CHECK(complaint(text, 8) == "c: --workers");
  CHECK(complaint(text, 4, "in-place") == "c: --time");
  // The size of an all-to-all is that of each message: 4 of them are what a rank sends, its own included.
  const MeasurementLog pairs = read(imb("Alltoall", sizes, law, 4));
  CHECK(pairs.operation == CollectiveOp::AllToAll);
  CHECK(pairs.points[0].bytes == 4 * sizes[0]);
  CHECK(pairs.points[0].seconds == Approx(law(sizes[0])));
  // One message at a time has one time.
  const MeasurementLog sends = read(imb("PingPong", sizes, law, 2));
  CHECK(sends.operation == CollectiveOp::Send);
  CHECK(sends.workers == 2);
  check_law(sends);
  CHECK(complaint(imb("PingPong", sizes, law, 2), 0, "min") == "c: --time");
}

TEST_CASE("Intel MPI Benchmarks: one of several benchmarks, rows without a time") {
  const std::string all = imb("PingPong", sizes, law, 2) + imb("Barrier", {}, law, 4) + imb("Bcast", sizes, law, 4) +
                          imb("Allgatherv", sizes, law, 4);
  CHECK(complaint(all) == "f");
  LogRequest request;
  request.operation = CollectiveOp::Broadcast;
  check_law(read_measurements(all, "f", request));
  CHECK(complaint(imb("Allgatherv", sizes, law, 4)) == "f");
  CHECK(complaint("# ( 2 groups of 2 processes each running simultaneous )\n" + all) == "f: line 1");
  const MeasurementLog cut =
      read(imb("Bcast", sizes, law, 4) + "      4194304 out-of-mem.; needed X= 0.008 GB; use flag \"-mem X\"\n");
  check_law(cut);
  CHECK(cut.notes.size() == 1);
  CHECK(complaint(imb("Bcast", sizes, law, 4) + " 8388608 10 3.1\n") == "f: line 25");
}

TEST_CASE("CSV: units in the header, in the cells, and a column of workers") {
  const auto csv = [](const std::string& header, const std::function<std::string(Bytes)>& row) {
    std::string text = header + "\n";
    for (const Bytes size : sizes) text += row(size) + "\r\n";
    return text;
  };
  check_law(read(csv("bytes,time_us", [](Bytes m) { return fmt::format("{},{}", m, law(m) * 1e6); }), 4));
  check_law(read(csv("who,Latency (ms),size_KiB",
                     [](Bytes m) { return fmt::format("me,{},{}", law(m) * 1e3, static_cast<double>(m) / 1024); }),
                 4));
  check_law(read(csv("size,time", [](Bytes m) { return fmt::format("{} B,{} s", m, law(m)); }), 4));
  check_law(read(csv("size,seconds,min_us", [](Bytes m) { return fmt::format("{},{},1", m, law(m)); }), 4));
  check_law(
      read(csv("bytes,time_us,latency_s", [](Bytes m) { return fmt::format("{},1,{}", m, law(m)); }), 4, "latency_s"));
  const std::string two = csv("nodes,bytes,time_us", [](Bytes m) {
    return fmt::format("2,{0},{1}\n4,{0},{2}", m, law(m) * 1e6, law(m) * 3e6);
  });
  check_law(read(two, 2));
  check_law(read(two, 4), 3);
  CHECK(complaint(two) == "f");
}

TEST_CASE("errors in logs name the line") {
  const std::string nccl = nccl_tests(sizes, law, 8), omb = osu(sizes, law);
  const auto with = [](std::string text, const std::string& what, const std::string& instead) {
    text.replace(text.find(what), what.size(), instead);
    return text;
  };
  const std::string row = nccl.substr(nccl.find("        1024"), nccl.find("        2048") - nccl.find("        1024"));
  struct Case {
    std::string text, place;
    std::int64_t workers = 8;
  };
  const Case cases[] = {
      {"", "f"},
      {"hello\n", "f"},
      {std::string("\x7f"
                   "ELF\x02\x01\x00\x00",
                   8),
       "f: line 1"},
      {nccl.substr(0, nccl.find("           8 ")), "f"},
      {with(nccl, row, row.substr(0, 70) + "\n"), "f: line 24"},
      {with(nccl, row, row.substr(0, 20) + "\n"), "f: line 24"},
      {with(nccl, row, with(row, " 0 ", " 0 0 ")), "f: line 24"},
      {with(nccl, row, with(row, "float", "half")), "f: line 24"},
      {with(nccl, row, with(row, "  1024", " -1024")), "f: line 24"},
      {with(nccl, row, with(row, "  1024", "1024kB")), "f: line 24"},
      {with(nccl, row, with(row, "30.512", "-0.512")), "f: line 24"},
      {with(nccl, row, with(row, "30.512", "0.0000")), "f: line 24"},
      {with(nccl, row, with(row, "30.512", "slow")), "f: line 24"},
      {with(nccl, row, with(row, "30.512", "nan")), "f: line 24"},
      {with(nccl, row, with(row, "30.512", "1e99")), "f: line 24"},
      {nccl, "c: --workers", 4},
      {nccl_tests(sizes, law, 8, "float", "scatter_perf"), "f: line 1"},
      {nccl + nccl_tests(sizes, law, 8, "float", "all_gather_perf"), "f: line 38"},
      {with(omb, "MPI Allreduce Latency", "MPI Bandwidth"), "f: line 2"},
      {with(omb, "1024 ", "1024 12"), "f: line 12"},
      {with(omb, "1024 ", "1024 #"), "f: line 12"},
      {omb + "2097152", "f: line 23"},
      {omb + "2097152  fast", "f: line 23"},
      {omb + "2097152  -3", "f: line 23"},
      {omb + "# Datatype: MPI_FLOAT.\n", "f: line 23"},
      {with(omb, "Avg Latency(us)", "Avg Latency(h)"), "f: line 4"},
      {with(omb, "Avg", "Overall"), "f: line 4"},
      {with(nccl, row,
            with(row, "30.512",
                 std::string("30\0"
                             "512",
                             6))),
       "f: line 24"},
      {"bytes,time_us\n8,1\n16\n", "f: line 3"},
      {"bytes,time_us\n8,-1\n16,2\n", "f: line 2"},
      {"bytes,time_us\n8,0\n16,2\n", "f: line 2"},
      {"bytes,time_us\n-8,1\n16,2\n", "f: line 2"},
      {"bytes,time_us\neight,1\n", "f: line 2"},
      {"bytes,time\n8,1\n16,2\n", "f: line 2"},
      {"bytes,speed\n8,1\n", "f: line 1"},
      {"time_us,count\n8,1\n", "f: line 1"},
      {"bytes,time_us,latency_us\n8,1,2\n", "f: line 1"},
      {"bytes,time_us,dtype\n8,1,float\n16,2,half\n", "f: line 3"},
      {"bytes,time_us,workers\n8,1,0\n16,2,half\n", "f: line 2"},
      {"bytes,time_us,workers\n8,1,1\n16,2,1\n", "f", 0},
  };
  for (const Case& one : cases) {
    CAPTURE(one.text);
    CHECK(complaint(one.text, one.workers) == one.place);
  }
  CHECK(error_place([&] { read(nccl, 8, "", "ocu"); }) == "c: --format");
  CHECK(complaint(nccl, 8, "avg") == "c: --time");
}

}  // namespace measurement_log_test
