// A cluster: its workers, the network that connects them, and the costs of communication. Files: topologies/*.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/core/json.hpp"
#include "sim/base/core/units.hpp"
#include "sim/inputs/cluster/topology_spec.hpp"

namespace allreplay {

/// A measured cost T(M) = a + b·M of a collective of M bytes among `workers` workers.
struct MeasuredCost {
  std::string collective;
  std::int64_t workers = 0;
  double a = 0;      ///< seconds
  double b = 0;      ///< seconds per byte
  double gamma = 0;  ///< the part of b that is reduction: seconds per byte reduced
  SourceLocation place;

  bool operator==(const MeasuredCost&) const = default;
};

/// One row of a measured table: the time that the cluster's collective took for a number of bytes.
struct CostPoint {
  Bytes bytes = 0;
  double seconds = 0;

  bool operator==(const CostPoint&) const = default;
};

/// A table of the cluster's collective, measured among `workers` workers.
struct WorkersTable {
  std::int64_t workers = 0;
  std::vector<CostPoint> table;

  bool operator==(const WorkersTable&) const = default;
};

/// The links inside a node. The network's alpha and beta then describe one of the node's `rails` ports.
struct NodeLevel {
  std::int64_t workers = 1;
  std::optional<double> alpha, beta;  ///< seconds, s/B; optional if whole collectives were measured
  std::int64_t rails = 1;
  SourceLocation place;

  bool operator==(const NodeLevel&) const = default;
};

/// The costs between hosts of pushes to and pulls from parameter servers, in place of the network's own.
struct ServerLinks {
  std::optional<double> alpha, beta;  ///< seconds, s/B; if missing, the network's own

  bool operator==(const ServerLinks&) const = default;
};

/// A constant of the links between nodes if `nodes` nodes take part.
struct ValueOfNodes {
  std::int64_t nodes = 1;
  double value = 0;

  bool operator==(const ValueOfNodes&) const = default;
};

/// Calibrated factors on the bandwidth and latency of one level.
struct LevelScale {
  double bandwidth = 1, latency = 1;

  bool operator==(const LevelScale&) const = default;
};
struct NetworkScale : LevelScale {
  double tree = 1;  ///< on a tree's bandwidth with Simple and LL128, on three and more nodes
  double ll = 1;    ///< on the bandwidth of LL, ring and tree

  bool operator==(const NetworkScale&) const = default;
};

/// The extra time of large messages between nodes, whose two ends have to meet first.
struct NcclRendezvous {
  Bytes from = 0;   ///< applies to collectives of more bytes than this
  double time = 0;  ///< seconds per hop

  bool operator==(const NcclRendezvous&) const = default;
};

enum class NcclProtocol : std::uint8_t { LL, LL128, Simple };

/// The machines' properties for NCCL's cost model (sim/plans/collective/nccl.hpp).
struct NcclSetup {
  enum class Gpu : std::uint8_t { Volta, Ampere, Hopper, Blackwell };
  Gpu gpu = Gpu::Volta;
  bool pcie = false;  ///< GPUs of a node are linked by PCIe instead of NVLink
  bool amd = false;   ///< the processor is AMD's instead of Intel's
  std::optional<std::int64_t> channels;
  bool nvls = true, ll128 = true;
  bool two_node_tree = true;         ///< on two nodes a tree sends half as much as a ring
  bool pat = false;                  ///< may gather and scatter by PAT, if nodes have one GPU
  std::optional<NcclProtocol> only;  ///< the only protocol that may be chosen (--protocol)
  std::optional<NcclRendezvous> rendezvous;
  LevelScale node;
  NetworkScale network;
  SourceLocation place;

  bool operator==(const NcclSetup&) const = default;
};

/// The cost of one message between two workers: seconds, and seconds per byte.
struct MessageCost {
  double alpha = 0, beta = 0;

  bool operator==(const MessageCost&) const = default;
};

/// The value of "network" in a cluster file. Names (collective, fidelity) are checked by the code that resolves them;
/// errors about them point to `place`.
struct Network {
  std::optional<double> alpha;  ///< start-up per message, on top of a topology's links; seconds
  std::optional<double> beta;   ///< transfer time per byte, seconds
  /// Alpha and beta by the number of nodes (increasing), if they depend on it; settle_by_nodes() then sets those above.
  std::vector<ValueOfNodes> alpha_of_nodes, beta_of_nodes;
  bool gives_bandwidth = false;  ///< the file gives "bandwidth", and not "beta": between numbers of nodes it is linear
  double gamma = 0;              ///< reduction time per byte, seconds
  std::optional<MeasuredCost> measured;
  std::vector<CostPoint> table;
  std::vector<WorkersTable> tables;  ///< workers increasing
  std::optional<NodeLevel> node;
  std::optional<ServerLinks> server;
  std::optional<NcclSetup> nccl;
  std::optional<MessageCost> p2p;        ///< of sends between the ranks of a pipeline; none: the same as other messages
  std::optional<TopologySpec> topology;  ///< if given, beta is optional
  std::optional<double> line_rate;  ///< of the physical links, bytes per second; costs that are faster get a warning
  std::string collective = "ring";
  /// Pairs of operation and collective, if the file distinguishes operations.
  std::vector<std::pair<std::string, std::string>> by_operation;
  bool names_collective = true;                              ///< false: a strategy's own collective takes precedence
  std::string fidelity;                                      ///< "": the default (collective_of)
  std::vector<std::pair<std::string, std::string>> options;  ///< defaults for this cluster: sharing, servers, …
  SourceLocation place;

  bool operator==(const Network&) const = default;
};

/// The slow-down of a worker's computation while it communicates; with `at`, in proportion to the rate of the bytes.
struct Interference {
  double compute = 1;        ///< factor on compute times, at least 1
  std::optional<double> at;  ///< bytes per second at which it is `compute`
  /// Beyond this many nodes there is none: links between nodes are too slow to keep the host's own busy.
  std::optional<std::int64_t> nodes;
};

struct Cluster {
  std::string name;
  std::int64_t workers = 0;
  Network network;
  std::optional<Interference> interference;
  bool in_words = false;  ///< described by command-line flags (cluster_words.hpp)
  /// The entries of "parallel" (degrees, schedule) as options with their values.
  std::vector<std::pair<std::string, std::string>> parallel;
  SourceLocation place;
};

/// Returns the topology for the detailed fidelities: the file's own, or one of kind `rail`, without latencies, that is
/// equivalent to "node"; nothing if only costs of whole collectives are known. Throws InputError if a link's beta is 0.
std::optional<TopologySpec> topology_of(const Network& network);

/// Throws InputError if the topology's placement separates ranks that "node" puts into one node.
void require_placed_in_nodes(const Network& network);

/// Reads the keys "name", "workers", "network", "interference" and "parallel" of a cluster file. Throws InputError.
/// Unless `counts`, "workers" may be missing and is then 0.
Cluster read_cluster(const Json& json, bool counts = true);

inline constexpr std::int64_t most_workers = 1 << 24;

}  // namespace allreplay
