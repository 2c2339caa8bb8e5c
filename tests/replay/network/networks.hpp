// Small networks, and single collectives on them.
#pragma once

#include <memory>
#include <string>

#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/replay/network/message.hpp"
#include "sim/replay/network/rounds_fabric.hpp"
#include "sim/replay/network/routed_rounds.hpp"

namespace allreplay {

inline LinkSpec link(double latency, double bandwidth) { return {latency, bandwidth}; }

inline std::unique_ptr<Topology> star(std::int64_t hosts, LinkSpec link) {
  return make_topology({.kind = TopologyKind::Star, .link = link}, hosts);
}
inline std::unique_ptr<Topology> fat_tree(std::int64_t ports, std::int64_t workers, LinkSpec link) {
  return make_topology({.kind = TopologyKind::FatTree, .link = link, .ports = ports}, workers);
}
inline std::unique_ptr<Topology> leaf_spine(std::int64_t leaves, std::int64_t hosts_per_leaf, std::int64_t spines,
                                            double oversubscription, LinkSpec link) {
  TopologySpec spec{.kind = TopologyKind::LeafSpine, .link = link, .oversubscription = oversubscription};
  spec.leaves = leaves;
  spec.hosts_per_leaf = hosts_per_leaf;
  spec.spines = spines;
  return make_topology(spec, leaves * hosts_per_leaf);
}
inline std::unique_ptr<Topology> bcube(std::int64_t n, std::int64_t k, std::int64_t workers, LinkSpec link) {
  return make_topology({.kind = TopologyKind::BCube, .link = link, .n = n, .k = k}, workers);
}

inline NetworkSetup setup(const std::string& collective, std::int64_t workers, Fidelity fidelity, double alpha = 0,
                          double gamma = 0, const CollectiveOptions& options = {}) {
  return {.fidelity = fidelity,
          .workers = workers,
          .alpha = alpha,
          .gamma = gamma,
          .options = options,
          .place = {"test", ""},
          .calls = {{CollectiveOp::AllReduce, everybody(), &find_algorithm(collective, {"test", ""})}}};
}

}  // namespace allreplay
