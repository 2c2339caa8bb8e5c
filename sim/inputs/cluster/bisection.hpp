// The bisection bandwidth of a network of machines.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/inputs/cluster/topology_spec.hpp"

namespace allreplay {

/// Computes the maximum flow, in bytes per second, from a set of machines to all others, over any nodes.
class Cut {
 public:
  explicit Cut(const Topology& topology);
  ~Cut();

  /// REQUIRES: one entry per machine; neither side is empty.
  double operator()(const std::vector<bool>& in_set);

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

struct Bisection {
  double bandwidth = 0;  ///< bytes per second, one way
  bool exact = true;     ///< false: an upper bound, from the best division that was tried
};

/// Returns the least flow over all divisions of the machines into halves (of an odd number, with one more on one side).
/// Nothing for a single machine, or for large networks without a formula.
std::optional<Bisection> bisection(const Topology& topology, const TopologySpec& spec);

}  // namespace allreplay
