// Fits the constants of two levels, inside a node and between nodes, to several logs: for closed forms or NCCL's model.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/inputs/cluster/cluster.hpp"
#include "sim/plans/collective/comm_cost.hpp"
#include "sim/studies/calibration/calibration.hpp"

namespace allreplay {

/// The errors of the fitted levels for one log: |fitted − measured| / measured.
struct LevelErrors {
  std::int64_t workers = 0, nodes = 0;
  double median = 0, worst = 0;
};

/// The fitted constants: those of both levels and, for nccl between nodes, those that its tuner overestimates.
enum LevelConstant : std::size_t {
  bandwidth_inside,
  latency_inside,
  bandwidth_outside,
  latency_outside,
  tree_bandwidth_outside,  ///< NetworkScale::tree
  ll_bandwidth_outside,    ///< NetworkScale::ll
  rendezvous_time,
};
inline constexpr std::size_t level_constants = 7;

struct LevelFit {
  /// The network with fitted node, alpha and beta; or with nccl's fitted scale, rendezvous and flags.
  Network network;
  /// The constants relative to their start values; 1 and not `known` if a level has no logs or something hides them.
  std::array<double, level_constants> factors{1, 1, 1, 1, 1, 1, 1};
  std::array<bool, level_constants> known{};
  bool ll128_known = false, two_node_tree_known = false;  ///< true if flipping the nccl flag would change the errors
  bool by_nodes = false;            ///< true if `network` has a bandwidth for each number of nodes (beta_of_nodes)
  std::vector<LevelErrors> errors;  ///< by log
  double median = 0;                ///< the largest of their medians
  std::vector<std::string> warnings;
};

/// Minimises Σ ((T − t)/t)² over all rows of all logs, in the logarithms of the factors, by pattern search (Hooke and
/// Jeeves 1961) from the best of a grid. `start` has node, its rails and, for nccl, bandwidths; closed forms start from
/// the logs' own lines. Constants inside a node are fitted to logs of one node, those between nodes to logs of several:
/// for nccl the latency to sizes up to the start of a rendezvous, the rendezvous to larger ones. For nccl the flags
/// `ll128` and `two_node_tree` are flipped if that reduces the sum by a tenth, implausible factors cause warnings, and
/// constants that the logs cannot separate keep the cluster's values, one after another, until the rest is determined.
/// Then the bandwidth between nodes is fitted to each number of nodes (fit_bandwidth_by_nodes()).
/// REQUIRES: logs of one algorithm, each fitted by calibrate().
LevelFit fit_levels(std::span<const Calibration> logs, const Network& start);

/// The relative errors of a network's times for the rows of a log.
std::vector<double> level_errors(const Calibration& log, const Network& network);

/// The cost of the log's collective among its workers, with the fitted levels.
CommCost level_price(const LevelFit& fit, const Calibration& log);

/// If the logs have several numbers of nodes, fits `network.beta_of_nodes` to them, one number at a time, and keeps all
/// other constants. Changes the fit only if that reduces the sum of squares by a tenth. Numbers of nodes at which the
/// bandwidth has no effect keep the common one.
void fit_bandwidth_by_nodes(LevelFit& fit, std::span<const Calibration> logs);

}  // namespace allreplay
