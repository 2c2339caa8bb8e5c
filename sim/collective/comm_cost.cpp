#include "sim/collective/comm_cost.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/cluster/make_topology.hpp"

namespace allreplay {

CommCost::CommCost(double a, double b) : a_(a), b_(b) {}

CommCost::CommCost(std::span<const CostPoint> points)
    : a_(points.front().seconds), points_(points.begin(), points.end()) {}

double CommCost::interpolate(double bytes) const {
  if (bytes <= static_cast<double>(points_.front().bytes)) return points_.front().seconds;
  auto above = std::lower_bound(points_.begin(), points_.end(), bytes, [](const CostPoint& point, double size) {
    return static_cast<double>(point.bytes) < size;
  });
  if (above == points_.end()) --above;
  const CostPoint& low = *(above - 1);
  const double slope = (above->seconds - low.seconds) / static_cast<double>(above->bytes - low.bytes);
  return std::max(0.0, low.seconds + slope * (bytes - static_cast<double>(low.bytes)));
}

Time CommCost::transfer(Bytes bytes) const {
  if (bytes <= 0) return Time(0);
  if (points_.empty()) return to_time(b_ * static_cast<double>(bytes));
  return std::max(least(bytes), (*this)(bytes)-to_time(a_));
}

Time CommCost::least(Bytes bytes) const {
  if (points_.empty() || bytes <= 0) return (*this)(bytes);
  const auto size = static_cast<double>(bytes);
  double per_byte = interpolate(size) / size;
  for (const CostPoint& point : points_)
    if (point.bytes <= bytes) per_byte = std::min(per_byte, point.seconds / static_cast<double>(point.bytes));
  return to_time(per_byte * size);
}

LinkCosts link_costs(const MeasuredCost& measured, const CollectiveOptions& options, const Place& place_of_gamma) {
  const Coefficients at = find_algorithm(measured.collective, measured.place / "collective")
                              .coefficients(static_cast<double>(measured.workers), options);
  const double beta = (measured.b - at.gamma * measured.gamma) / at.beta;
  if (beta < 0)
    throw InputError(place_of_gamma,
                     fmt::format("{} s/B leave less than nothing of b = {} s/B", measured.gamma, measured.b),
                     fmt::format("at most {} s/B", measured.b / at.gamma));
  return {measured.a / at.alpha, beta, measured.gamma};
}

namespace {

LinkCosts links_of(const Network& network, std::int64_t workers, const CollectiveOptions& options) {
  if (network.measured) return link_costs(*network.measured, options, network.measured->place / "gamma");
  if (network.topology && !network.beta) {
    const RouteBound bound = consecutive_route_bound(*make_topology(*network.topology, workers), workers);
    return {network.alpha.value_or(0) + bound.latency, 1 / bound.bandwidth, network.gamma};
  }
  return {network.alpha.value_or(0), network.beta.value_or(0), network.gamma};
}

}  // namespace

StageCosts price_stages(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                        std::int64_t table_workers, const CollectiveOptions& options) {
  if (workers == 1) return {CommCost(0, 0), CommCost(0, 0), CommCost(0, 0)};
  if (!network.table.empty()) {
    if (workers != table_workers || algorithm.name != network.collective)
      throw InputError(network.place / "table",
                       fmt::format("was measured for {} among {} workers and says nothing of {} among {}",
                                   network.collective, table_workers, algorithm.name, workers),
                       "alpha and beta, or measured, can be carried to other sizes");
    std::vector<CostPoint> half = network.table;
    for (CostPoint& point : half) point.seconds /= 2;
    return {CommCost(network.table), CommCost(half), CommCost(half)};
  }
  const LinkCosts links = links_of(network, workers, options);
  const Coefficients times = algorithm.coefficients(static_cast<double>(workers), options);
  const double a = times.alpha * links.alpha, transfer = times.beta * links.beta, reduction = times.gamma * links.gamma;
  const double scattered = transfer / 2 + (network.measured ? reduction / 2 : reduction);
  return {CommCost(a, transfer + reduction), CommCost(a / 2, scattered),
          CommCost(a / 2, transfer + reduction - scattered)};
}

CommCost price(const Network& network, const Algorithm& algorithm, std::int64_t workers, std::int64_t table_workers,
               const CollectiveOptions& options) {
  return price_stages(network, algorithm, workers, table_workers, options)[static_cast<std::size_t>(Stage::AllReduce)];
}

std::string implausible(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                        const CollectiveOptions& options) {
  if (workers == 1) return "";
  if (network.line_rate && network.table.empty()) {
    const double beta = links_of(network, workers, options).beta, least = 1 / *network.line_rate;
    if (beta < least * 0.999)
      return fmt::format("a time per byte of {:.4g} ns/B beats the line rate of {} ({:.4g} ns/B)", beta * 1e9,
                         format_rate(*network.line_rate), least * 1e9);
  }
  const Coefficients times = algorithm.coefficients(static_cast<double>(workers), options);
  const auto n = static_cast<double>(workers);
  if (network.table.empty() && algorithm.option == "tree_bandwidth" && times.beta < 2 * (n - 1) / n * 0.999)
    return fmt::format(
        "{} as printed moves {:.3g} bytes per byte and link, below the bandwidth bound 2(N-1)/N of any all-reduce "
        "(--option tree_bandwidth=physical corrects it)",
        algorithm.name, times.beta);
  return "";
}

}  // namespace allreplay
