// How much passes between two halves of the machines.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/cluster/topology_spec.hpp"

namespace allreplay {

/// The most bytes per second that a set of machines can send to all others, whatever way they take through switches
/// and other machines: the maximum flow.
class Cut {
 public:
  explicit Cut(const Topology& topology);
  ~Cut();

  /// REQUIRES: one entry per machine; both sides have some.
  double operator()(const std::vector<bool>& in_set);

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

struct Bisection {
  double bandwidth = 0;  ///< bytes per second, one way
  bool exact = true;     ///< or an upper bound: the best division that was tried
};

/// The least flow over all divisions of the machines into halves (of an odd number, one more on one side). Nothing for
/// a single machine, and for large networks without a rule.
std::optional<Bisection> bisection(const Topology& topology, const TopologySpec& spec);

}  // namespace allreplay
