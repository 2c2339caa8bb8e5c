// Who sits where: each seat, a host or one of a host's GPUs, belongs to one job from the beginning to the end.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/jobs/jobs_file.hpp"

namespace allreplay {

/// What there is to sit on.
struct Seating {
  std::shared_ptr<const Topology> network;
  std::int64_t seats = 0;           ///< the first so many of the network's hosts
  bool whole_nodes = false;         ///< jobs get machines, not single GPUs
  std::vector<NodeId> spread = {};  ///< all seats, or whole nodes, in the order of `spread`; none: refused
};

/// By job, its ranks' seats. Jobs with a list of hosts choose first, then the others in their order. Throws InputError
/// where one finds too few, and where a listed host is taken or unknown.
std::vector<std::vector<NodeId>> seat_jobs(const Seating& seating, std::span<const JobEntry> jobs,
                                           std::span<const SeatChoice> choices);

}  // namespace allreplay
