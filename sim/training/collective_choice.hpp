// Which collective carries a scenario's transfers, and in which fidelity: names resolved.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collective/call.hpp"
#include "sim/network/fidelity.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

/// Its name: in the scenario's own words, or else the codec's, or the cluster's, or the strategy's own, or ring.
std::string collective_named(const Scenario& scenario);

struct CollectiveChoice {
  const Algorithm* algorithm = nullptr;                              ///< of all-reduces, or of the operation
  const Algorithm *reduce_scatter = nullptr, *all_gather = nullptr;  ///< of plans' halves
  const Algorithm* all_to_all = nullptr;                             ///< inside layers
  Fidelity fidelity = Fidelity::AlphaBeta;
  CollectiveOptions options;  ///< with what the topology decides: the levels of a BCube, the groups of a hierarchy
  std::string named;          ///< the word that chose it

  /// Whether the topology is simulated.
  bool detailed() const { return fidelity != Fidelity::AlphaBeta; }
  const Algorithm& of(CollectiveOp op) const {
    return op == CollectiveOp::ReduceScatter ? *reduce_scatter
           : op == CollectiveOp::AllGather   ? *all_gather
           : op == CollectiveOp::AllToAll    ? *all_to_all
                                             : *algorithm;
  }
  /// Whether it can carry out the operation: closed forms of built-in collectives can always be halved.
  bool has(CollectiveOp op) const {
    const Algorithm& one = of(op);
    return is_whole(one, op) || one.halves != Halves::None || !(detailed() || one.in_switches || one.from_file);
  }
  bool has_halves() const { return has(CollectiveOp::ReduceScatter) && has(CollectiveOp::AllGather); }
  /// Whether payloads are gathered. There is no sum to scatter then, and every block travels in one stage.
  bool gathers() const { return algorithm->operation == CollectiveOp::AllGather; }
};

/// Throws InputError for names that nobody knows, for collectives that cannot do what they are named for, and for a
/// detailed fidelity without a topology.
CollectiveChoice collective_of(const Scenario& scenario);

/// True if fluid can simulate all that a plan may send, on links that the cluster's file describes: constants that were
/// measured are worth more than a topology from data sheets.
bool suits_fluid(const Scenario& scenario, const CollectiveChoice& choice);

/// The names of the options on which its times depend.
std::vector<std::string_view> options_of(const CollectiveChoice& choice);

/// Who chose the collective: the user, the codec, or the cluster.
SourceLocation place_of_collective(const Scenario& scenario);

/// How many workers lie together: in a node, or as the topology groups them itself.
std::int64_t workers_together(const Scenario& scenario);

/// What the scenario is laid on. Throws InputError where there is no such network. REQUIRES: a detailed fidelity.
std::shared_ptr<const Topology> topology_of(const Scenario& scenario);

/// How many workers a node has, or a host of the topology.
std::int64_t gpus_of_a_host(const Network& network);

}  // namespace allreplay
