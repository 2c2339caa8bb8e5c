// nccl-tests' programs as their rows tell them apart: by the columns redop and root, and by busbw / algbw, which
// depends on the collective and on the number of workers (nccl-tests, doc/PERFORMANCE.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/core/collective_op.hpp"
#include "sim/base/core/units.hpp"

namespace allreplay {

struct NcclTest {
  std::string_view program;
  std::optional<CollectiveOp> operation;  ///< none: its logs are not read
  bool reduces;                           ///< redop is not "none"
  bool rooted;                            ///< root is not -1
  double (*bus_factor)(double workers);
};

std::span<const NcclTest> nccl_tests();

/// The test of that program, such as all_reduce_perf or all_reduce_perf_mpi; nullptr if it is unknown.
const NcclTest* nccl_test_named(std::string_view program);

/// busbw / algbw of a log, as exactly as the rounding of its rows leaves it.
class BusFactor {
 public:
  /// Adds a row; `redop` and `root` are "" if the table has no such column.
  void add(std::string_view algbw, std::string_view busbw, std::string_view redop, std::string_view root);

  /// False if no row has enough digits.
  bool is_known() const { return !rows_.empty(); }
  double value() const { return (range().first + range().second) / 2; }

  /// True if the test with that many workers prints this ratio, or if the ratio is not known.
  bool fits(const NcclTest& test, std::int64_t workers) const;

  /// The tests that fit the columns and the ratio; those that fit the column root, too, if there are any.
  std::vector<const NcclTest*> tests(std::int64_t workers) const;

  /// The only number of workers with which `test`, or any test that fits the columns (nullptr), prints this ratio.
  std::optional<std::int64_t> workers(const NcclTest* test) const;

 private:
  struct Row {
    double algbw, least, most;
  };
  std::pair<double, double> range() const;

  std::vector<Row> rows_;
  std::optional<bool> reduces_, rooted_;
};

/// The number that a word begins with; 0 if it is not finite.
double number_in(std::string_view word);

/// Half of a decimal number's last digit: what rounding can hide.
double rounding_of(std::string_view word);

}  // namespace allreplay
