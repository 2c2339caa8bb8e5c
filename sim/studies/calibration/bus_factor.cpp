#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/inputs/cluster/cluster.hpp"
#include "sim/studies/calibration/log_text.hpp"

namespace allreplay {

namespace {

double factor_one(double) { return 1; }
double factor_without_own(double workers) { return (workers - 1) / workers; }
double factor_of_all_reduce(double workers) { return 2 * factor_without_own(workers); }

constexpr NcclTest nccl_test_rows[] = {
    {"all_reduce_perf", CollectiveOp::AllReduce, true, false, factor_of_all_reduce},
    {"all_gather_perf", CollectiveOp::AllGather, false, false, factor_without_own},
    {"reduce_scatter_perf", CollectiveOp::ReduceScatter, true, false, factor_without_own},
    {"alltoall_perf", CollectiveOp::AllToAll, false, false, factor_without_own},
    {"broadcast_perf", CollectiveOp::Broadcast, false, true, factor_one},
    {"reduce_perf", std::nullopt, true, true, factor_one},
    {"sendrecv_perf", CollectiveOp::Send, true, false, factor_one},
    {"gather_perf", std::nullopt, false, true, factor_without_own},
    {"scatter_perf", std::nullopt, false, true, factor_without_own},
};

}  // namespace

std::span<const NcclTest> nccl_tests() { return nccl_test_rows; }

const NcclTest* nccl_test_named(std::string_view program) {
  const auto* found = std::find_if(std::begin(nccl_test_rows), std::end(nccl_test_rows),
                                   [&](const NcclTest& test) { return program.starts_with(test.program); });
  return found == std::end(nccl_test_rows) ? nullptr : found;
}

void BusFactor::add(std::string_view algbw, std::string_view busbw, std::string_view redop, std::string_view root) {
  if (!redop.empty()) reduces_ = redop != "none";
  if (!root.empty()) rooted_ = root != "-1";
  const double rate = number_in(algbw), bus = number_in(busbw);
  const double of_rate = rounding_of(algbw), of_bus = rounding_of(busbw);
  constexpr double slack = 1.001;  // the last digit of a tie may be rounded either way
  if (rate < 1 || bus <= 0) return;
  rows_.push_back(
      {rate, (bus - slack * of_bus) / (rate + slack * of_rate), (bus + slack * of_bus) / (rate - slack * of_rate)});
}

// The largest rate has the most digits; others narrow what its rounding leaves open.
std::pair<double, double> BusFactor::range() const {
  std::vector<Row> rows = rows_;
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.algbw > b.algbw; });
  double least = rows.front().least, most = rows.front().most;
  for (const Row& row : rows)
    if (row.least <= most && row.most >= least) {
      least = std::max(least, row.least);
      most = std::min(most, row.most);
    }
  return {least, most};
}

bool BusFactor::fits(const NcclTest& test, std::int64_t workers) const {
  if (!is_known()) return true;
  const auto [least, most] = range();
  const double factor = test.bus_factor(static_cast<double>(workers));
  return least <= factor && factor <= most;
}

std::vector<const NcclTest*> BusFactor::tests(std::int64_t workers) const {
  std::vector<const NcclTest*> all, of_root;
  for (const NcclTest& test : nccl_test_rows) {
    if ((reduces_ && *reduces_ != test.reduces) || !fits(test, workers)) continue;
    all.push_back(&test);
    if (rooted_ && *rooted_ == test.rooted) of_root.push_back(&test);
  }
  return of_root.empty() ? all : of_root;
}

std::optional<std::int64_t> BusFactor::workers(const NcclTest* asked) const {
  if (!is_known()) return std::nullopt;
  std::optional<std::int64_t> found;
  for (const NcclTest& test : nccl_test_rows) {
    if (asked ? asked != &test : reduces_ && *reduces_ != test.reduces) continue;
    if (test.bus_factor == factor_one) {
      if (fits(test, 2)) return std::nullopt;  // any number
      continue;
    }
    // factor = k·(n-1)/n, so n = 1 / (1 - factor/k); the nearest numbers to the middle of the range are tried.
    const double share = value() / test.bus_factor(1e18);
    if (share >= 1) continue;
    const auto near = static_cast<std::int64_t>(std::llround(std::min(1 / (1 - share), 1.0 * most_workers)));
    for (std::int64_t n = std::max<std::int64_t>(near - 1, 2); n <= std::min(near + 1, most_workers); ++n) {
      if (!fits(test, n)) continue;
      if (found && *found != n) return std::nullopt;
      found = n;
    }
  }
  return found;
}

double number_in(std::string_view word) {
  double number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return std::isfinite(number) ? number : 0;
}

double rounding_of(std::string_view word) {
  const auto point = word.find('.');
  return 0.5 * (point == word.npos ? 1 : std::pow(10, -static_cast<double>(word.size() - point - 1)));
}

}  // namespace allreplay
