// Assigns seats to jobs. A seat is a host or one of a host's GPUs, and belongs to one job for the whole run.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/studies/jobs/jobs_file.hpp"

namespace allreplay {

/// The seats of a cluster.
struct Seating {
  std::shared_ptr<const Topology> network;
  std::int64_t seats = 0;           ///< the first `seats` of the network's hosts
  bool whole_nodes = false;         ///< a job gets whole machines, not single GPUs
  std::vector<NodeId> spread = {};  ///< all seats, or all nodes, in the order of `spread`; empty: not supported
};

/// Returns the seats of each job's ranks. Jobs with a list of hosts choose first, then the others in the order of the
/// file. Throws InputError if a job finds too few seats, or a listed host is taken or unknown.
std::vector<std::vector<NodeId>> seat_jobs(const Seating& seating, std::span<const JobEntry> jobs,
                                           std::span<const SeatChoice> choices);

}  // namespace allreplay
