// Logs in the format of benchmarks, written for these tests, with times a + b·M.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/studies/calibration/measurement_log.hpp"

namespace test_logs {

using Law = std::function<double(allreplay::Bytes)>;  // seconds

inline std::vector<allreplay::Bytes> doublings(allreplay::Bytes from, allreplay::Bytes to) {
  std::vector<allreplay::Bytes> sizes;
  for (; from <= to; from *= 2) sizes.push_back(from);
  return sizes;
}

/// Output of all_reduce_perf on `ranks` GPUs; in-place times are ten per cent above out-of-place ones.
inline std::string nccl_tests(const std::vector<allreplay::Bytes>& sizes, const Law& law, int ranks,
                              const std::string& type = "float", const std::string& program = "all_reduce_perf") {
  std::string text = fmt::format("# Collective test starting: {}\n", program);
  text += "# nThread 1 nGpus 1 minBytes 8 maxBytes 268435456 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1\n";
  text += "#\n# Using devices\n";
  for (int rank = 0; rank < ranks; ++rank)
    text +=
        fmt::format("#  Rank {:2d} Group  0 Pid {:6d} on  gpu-box-1 device {:2d} [0x{:02x}] Some Accelerator 40GB\n",
                    rank, 4000 + rank, rank, 16 + rank);
  text +=
      "#\n#                                                              out-of-place                       in-place\n";
  text +=
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n";
  text +=
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
  const double bus = program == "sendrecv_perf" ? 1 : (program == "alltoall_perf" ? 1.0 : 2.0) * (ranks - 1) / ranks;
  for (const allreplay::Bytes size : sizes) {
    const double us = law(size) * 1e6;
    const auto block = [&](double time) {
      const double algbw = static_cast<double>(size) / time * 1e-3;
      return fmt::format("  {:>20.12g} {:7.2f} {:7.2f}      0", time, algbw, algbw * bus);
    };
    text += fmt::format("{:12d} {:13d} {:>9} {:>7} {:7d}{}{}\n", size, size / 4, type, "sum", -1, block(us),
                        block(us * 1.1));
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 3.14159\n#\n";
}

/// Output of one benchmark of IMB-MPI1; minima are two per cent below, maxima three above.
inline std::string imb(const std::string& benchmark, const std::vector<allreplay::Bytes>& sizes, const Law& law,
                       int processes) {
  const bool single = benchmark == "PingPong";
  std::string text = fmt::format("\n#-----\n# Benchmarking {} \n# #processes = {} \n#-----\n", benchmark, processes);
  text += single ? "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
                 : "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n";
  for (const allreplay::Bytes size : sizes) {
    const double us = law(size) * 1e6;
    text += single ? fmt::format("{:13d} {:12d} {:20.12g} {:12.2f}\n", size, 1000, us, static_cast<double>(size) / us)
                   : fmt::format("{:13d} {:12d} {:20.12g} {:20.12g} {:20.12g}\n", size, 1000, us * 0.98, us * 1.03, us);
  }
  return text;
}

/// Output of osu_allreduce; with -f, minima are two per cent below, maxima three above.
inline std::string osu(const std::vector<allreplay::Bytes>& sizes, const Law& law, bool full = false) {
  std::string text = "\n# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)";
  text += full ? "   Min Latency(us)   Max Latency(us)  Iterations\n" : "\n";
  for (const allreplay::Bytes size : sizes) {
    const double us = law(size) * 1e6;
    text += fmt::format("{:<10}{:>24.12g}", size, us);
    if (full) text += fmt::format("{:>24.12g}{:>24.12g}{:>12}", us * 0.98, us * 1.03, 1000);
    text += "\n";
  }
  return text;
}

/// Prepends `prefix` to every line.
inline std::string prefixed(const std::string& text, const std::string& prefix) {
  std::string result;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != text.npos; begin = end + 1, end = text.find('\n', begin))
    result += prefix + text.substr(begin, end + 1 - begin);
  return result;
}

}  // namespace test_logs
