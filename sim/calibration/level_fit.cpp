#include "sim/calibration/level_fit.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/calibration/pattern_search.hpp"
#include "sim/collective/two_level.hpp"

namespace allreplay {

namespace {

using Factors = std::vector<double>;  // four: bandwidth, latency: inside, then between nodes
constexpr std::array<const char*, 4> names = {"bandwidth inside a node", "start-up inside a node",
                                              "bandwidth between nodes", "start-up between nodes"};

Network scaled(Network network, const Factors& factors) {
  if (network.nccl) {
    network.nccl->node = {factors[0], factors[1]};
    network.nccl->network.bandwidth = factors[2];
    network.nccl->network.latency = factors[3];
    return network;
  }
  network.node->beta = *network.node->beta / factors[0];
  network.node->alpha = *network.node->alpha * factors[1];
  network.beta = *network.beta / factors[2];
  network.alpha = *network.alpha * factors[3];
  return network;
}

// NCCL prices the halves of an all-reduce by themselves; every other algorithm is what its name says.
CollectiveOp op_of(const Calibration& log) {
  if (log.algorithm->coefficients) return CollectiveOp::AllReduce;
  switch (log.log.purpose.value_or(Purpose::AllReduce)) {
    case Purpose::ReduceScatter:
      return CollectiveOp::ReduceScatter;
    case Purpose::AllGather:
      return CollectiveOp::AllGather;
    default:
      return CollectiveOp::AllReduce;
  }
}

CommCost price_of(const Calibration& log, const Network& network) {
  return price_ops(network, *log.algorithm, log.workers(), log.workers(), log.options)[op_of(log)];
}

std::vector<double> relative_errors(const Calibration& log, const Network& network) {
  const CommCost cost = price_of(log, network);
  std::vector<double> errors;
  for (const Measurement& row : log.log.points)
    errors.push_back((to_seconds(cost(row.bytes)) - row.seconds) / row.seconds);
  return errors;
}

double squares(std::span<const Calibration> logs, const Network& network) {
  double sum = 0;
  for (const Calibration& log : logs)
    for (const double error : relative_errors(log, network)) sum += error * error;
  return sum;
}

Factors exponentials(Factors logarithms) {
  for (double& one : logarithms) one = std::exp(one);
  return logarithms;
}

// The lines of the smallest log inside a node and of the largest across nodes, as if each were of one level.
void start_from_lines(Network& network, std::span<const Calibration> logs) {
  constexpr double some_time = 1e-6, some_per_byte = 1e-9;  // where a line has none
  const auto positive = [](double value, double other) { return value > 0 ? value : other; };
  for (const Calibration& log : logs) {
    const double alpha = positive(log.alpha, some_time), beta = positive(log.beta, some_per_byte);
    if (log.workers() <= network.node->workers) {
      network.node->alpha = alpha;
      network.node->beta = beta;
    } else {
      network.alpha = alpha;
      network.beta = beta * static_cast<double>(network.node->rails);
    }
  }
  network.gamma = logs.front().gamma;
  if (!network.node->alpha) {  // to be searched for, with nothing to start from
    network.node->alpha = network.alpha.value_or(some_time) / 4;
    network.node->beta = network.beta.value_or(some_per_byte) / 4;
  }
  if (!network.alpha) network.alpha = network.node->alpha, network.beta = network.node->beta;
}

// NCCL's model with the cluster's own constants meets logs to a factor; far beyond that it is of something else.
void warn_of_no_link(LevelFit& fit) {
  for (std::size_t axis = 0; axis < fit.factors.size(); ++axis) {
    const double most = axis % 2 == 0 ? 2 : 10;  // a rate is a data sheet's, a start-up has software in it
    if (!fit.known[axis] || (fit.factors[axis] < most && fit.factors[axis] > 0.1)) continue;
    fit.warnings.push_back(fmt::format(
        "the {} is x {:.4g} of the cluster's: no such link exists. More likely the cluster is of other hardware than "
        "the log, or its nodes are of another size",
        names[axis], fit.factors[axis]));
  }
}

}  // namespace

LevelFit fit_levels(std::span<const Calibration> logs, const Network& start) {
  LevelFit fit;
  Network base = start;
  const bool nccl = !logs.front().algorithm->coefficients;
  if (!nccl) start_from_lines(base, logs);
  for (const Calibration& log : logs) {
    const std::size_t level = log.workers() > base.node->workers ? 2 : 0;
    fit.known[level] = fit.known[level + 1] = true;
  }
  const auto cost = [&](const Factors& logarithms) { return squares(logs, scaled(base, exponentials(logarithms))); };
  Factors best(4, 0.0);
  double least = cost(best);
  for (int corner = 0; corner < 81; ++corner) {
    Factors candidate(4, 0.0);
    int rest = corner;
    for (std::size_t axis = 0; axis < candidate.size(); ++axis, rest /= 3)
      candidate[axis] = fit.known[axis] ? 0.7 * (rest % 3 - 1) : 0;
    if (const double value = cost(candidate); value < least) {
      least = value;
      best = candidate;
    }
  }
  best = pattern_search(cost, best, std::vector<bool>(fit.known.begin(), fit.known.end()));
  for (std::size_t axis = 0; axis < best.size(); ++axis) {
    if (!fit.known[axis]) continue;
    Factors twice = best;
    twice[axis] += std::log(2);
    Factors half = best;
    half[axis] -= std::log(2);
    // What leaves no trace where it is twice as large, or half.
    const double slack = 1e-9 * (1 + least);
    if (cost(twice) <= cost(best) + slack || cost(half) <= cost(best) + slack) {
      fit.known[axis] = false;
      fit.warnings.push_back(fmt::format("the logs say nothing of the {}: something else is slower", names[axis]));
    }
  }
  const Factors factors = exponentials(best);
  std::copy(factors.begin(), factors.end(), fit.factors.begin());
  fit.network = scaled(base, factors);
  if (nccl) warn_of_no_link(fit);
  for (const Calibration& log : logs) {
    std::vector<double> errors = relative_errors(log, fit.network);
    for (double& error : errors) error = std::abs(error);
    fit.errors.push_back({log.workers(), layout_of(log.workers(), base.node->workers).nodes, median(errors),
                          *std::max_element(errors.begin(), errors.end())});
    fit.median = std::max(fit.median, fit.errors.back().median);
  }
  return fit;
}

CommCost level_price(const LevelFit& fit, const Calibration& log) { return price_of(log, fit.network); }

}  // namespace allreplay
