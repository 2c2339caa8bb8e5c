// The constants of two levels out of several logs, inside a node and across nodes: of closed forms, or of NCCL's model.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/calibration/calibration.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/collective/comm_cost.hpp"

namespace allreplay {

/// How far the fitted levels are from one log: |fitted − measured| / measured.
struct LevelErrors {
  std::int64_t workers = 0, nodes = 0;
  double median = 0, worst = 0;
};

/// What is fitted: of both levels, and of nccl between nodes what its tuner believes too much of.
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
  /// With node, alpha and beta fitted; or with nccl's scale, rendezvous and flags.
  Network network;
  /// How many times the starting constants. Those of a level without logs are 1, and `known` is false, as it is where
  /// something else hides them.
  std::array<double, level_constants> factors{1, 1, 1, 1, 1, 1, 1};
  std::array<bool, level_constants> known{};
  bool ll128_known = false, two_node_tree_known = false;  ///< of nccl's flags: turned, they would leave a trace
  std::vector<LevelErrors> errors;                        ///< of each log
  double median = 0;                                      ///< the largest of their medians
  std::vector<std::string> warnings;
};

/// Least squares of (T − t)/t over all rows of all logs, in the logarithms of four factors: by pattern search (Hooke
/// and Jeeves 1961) from the best of a grid. `start` has node, its rails, and nccl with bandwidths where the algorithm
/// is nccl, of which a factor that no link can have is warned of, and whose flags `ll128` and `two_node_tree` are
/// turned where the squares fall by a tenth; of a closed form it needs no constants, the logs' own lines being the
/// start. Inside a node only a log inside one node has a say, between nodes only those of several: of nccl, sizes up to
/// where a rendezvous begins on the latency, and those above on the rendezvous. What nccl's logs do not tell apart
/// stays the cluster's, one after another, until they tell the rest. REQUIRES: logs of one algorithm, each fitted by
/// calibrate().
LevelFit fit_levels(std::span<const Calibration> logs, const Network& start);

/// What the fitted levels ask for the log's collective among its workers.
CommCost level_price(const LevelFit& fit, const Calibration& log);

}  // namespace allreplay
