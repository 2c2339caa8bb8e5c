#include <cmath>
#include <set>

#include "sim/plans/collective/network_change.hpp"
#include "sim/studies/calibration/least_squares.hpp"
#include "sim/studies/calibration/level_fit.hpp"

namespace allreplay {

namespace {

double squares_of_nodes(std::span<const Calibration> logs, const Network& network, std::optional<std::int64_t> nodes) {
  double sum = 0;
  for (const Calibration& log : logs)
    if (!nodes || nodes_of(network, log.workers()) == *nodes)
      for (const double error : level_errors(log, network)) sum += error * error;
  return sum;
}

// The network with an entry for each of these numbers of nodes, all with the common bandwidth.
Network with_entries(Network network, const std::set<std::int64_t>& counts) {
  if (network.nccl) {  // the entries have its factor
    for (ValueOfNodes& one : network.beta_of_nodes) one.value /= network.nccl->network.bandwidth;
    network.beta = *network.beta / network.nccl->network.bandwidth;
    network.nccl->network.bandwidth = 1;
  }
  const Network common = network;
  network.beta_of_nodes.clear();
  for (const std::int64_t nodes : counts) {
    Network there = common;
    settle_by_nodes(there, nodes * node_workers_of(common));
    network.beta_of_nodes.push_back({nodes, *there.beta});
  }
  return network;
}

}  // namespace

void fit_bandwidth_by_nodes(LevelFit& fit, std::span<const Calibration> logs) {
  std::set<std::int64_t> counts;
  for (const Calibration& log : logs)
    if (const std::int64_t nodes = nodes_of(fit.network, log.workers()); nodes > 1) counts.insert(nodes);
  if (counts.size() < 2 || !fit.known[bandwidth_outside]) return;
  Network network = with_entries(fit.network, counts);
  for (ValueOfNodes& one : network.beta_of_nodes) {
    const double common = one.value;
    const auto cost = [&](const std::vector<double>& at) {
      one.value = common * std::exp(at[0]);
      return squares_of_nodes(logs, network, one.nodes);
    };
    const double as_is = cost({0}), slack = 1e-9 * (1 + as_is);
    const bool has_effect = cost({std::log(2)}) > as_is + slack || cost({-std::log(2)}) > as_is + slack;
    one.value = has_effect ? common * std::exp(pattern_search(cost, {0}, {true})[0]) : common;
  }
  if (squares_of_nodes(logs, network, std::nullopt) < 0.9 * squares_of_nodes(logs, fit.network, std::nullopt)) {
    fit.network = std::move(network);
    fit.by_nodes = true;
  }
}

}  // namespace allreplay
