// Resolves the names of a scenario's collectives and fidelity.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/plans/collective/call.hpp"
#include "sim/replay/network/fidelity.hpp"
#include "sim/replay/training/simulate.hpp"

namespace allreplay {

/// Returns the collective's name: the scenario's, or else the codec's, the cluster's, the strategy's default, or ring.
std::string collective_named(const Scenario& scenario);

struct CollectiveChoice {
  const Algorithm* algorithm = nullptr;                              ///< of all-reduces, or of the scenario's operation
  const Algorithm *reduce_scatter = nullptr, *all_gather = nullptr;  ///< of halves in plans
  const Algorithm* all_to_all = nullptr;                             ///< inside layers, and in plans
  const Algorithm* broadcast = nullptr;                              ///< of gathers and scatters in plans
  Fidelity fidelity = Fidelity::AlphaBeta;
  CollectiveOptions options;  ///< includes what the topology determines: levels of a BCube, groups of a hierarchy
  std::string named;          ///< the name that was resolved

  /// True if the topology is simulated.
  bool detailed() const { return fidelity != Fidelity::AlphaBeta; }
  const Algorithm& of(CollectiveOp op) const {
    return op == CollectiveOp::ReduceScatter ? *reduce_scatter
           : op == CollectiveOp::AllGather   ? *all_gather
           : op == CollectiveOp::AllToAll    ? *all_to_all
           : op == CollectiveOp::Broadcast   ? *broadcast
                                             : *algorithm;
  }
  /// True if it supports the operation. In closed form, built-in collectives can always be halved.
  bool has(CollectiveOp op) const {
    const Algorithm& one = of(op);
    return is_whole(one, op) || one.halves != Halves::None || !(detailed() || one.in_switches || one.from_file);
  }
  bool has_halves() const { return has(CollectiveOp::ReduceScatter) && has(CollectiveOp::AllGather); }
  /// True if payloads are gathered instead of summed; blocks then cannot be sent in two halves.
  bool gathers() const { return algorithm->operation == CollectiveOp::AllGather; }
};

/// Throws InputError for unknown names, unsupported operations, and a detailed fidelity without a topology.
CollectiveChoice collective_of(const Scenario& scenario);

/// True if fluid can simulate everything that a plan may send, on the links in the cluster's file. False if that file
/// has measured constants, which are preferred to a topology from data sheets.
bool suits_fluid(const Scenario& scenario, const CollectiveChoice& choice);

/// Returns the names of the options that its times depend on.
std::vector<std::string_view> options_of(const CollectiveChoice& choice);

/// Returns the place where the collective was chosen: by the user, the codec, or the cluster.
SourceLocation place_of_collective(const Scenario& scenario);

/// Returns the number of workers in a node, or in a group of the topology.
std::int64_t workers_together(const Scenario& scenario);

/// Returns the scenario's topology. Throws InputError if it cannot be made. REQUIRES: a detailed fidelity.
std::shared_ptr<const Topology> topology_of(const Scenario& scenario);

/// Returns the number of workers in a node, or in a host of the topology.
std::int64_t gpus_of_a_host(const Network& network);

}  // namespace allreplay
