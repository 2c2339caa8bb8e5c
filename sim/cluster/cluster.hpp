// A cluster: how many workers, and what connects them. Files: topologies/*.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/topology_spec.hpp"
#include "sim/core/error.hpp"
#include "sim/core/json.hpp"
#include "sim/core/units.hpp"

namespace allreplay {

/// A cost T(M) = a + b·M that somebody measured, for a named collective among a number of workers.
struct MeasuredCost {
  std::string collective;
  std::int64_t workers = 0;
  double a = 0;      ///< seconds
  double b = 0;      ///< seconds per byte
  double gamma = 0;  ///< what of b is reduction: seconds per byte reduced
  SourceLocation place;
};

/// One row of a measured table: what the cluster's collective took for that many bytes.
struct CostPoint {
  Bytes bytes = 0;
  double seconds = 0;
};

/// A table of a cluster's collective, measured among so many workers.
struct WorkersTable {
  std::int64_t workers = 0;
  std::vector<CostPoint> table;
};

/// The level inside a node. The network's alpha and beta are then those of one port, of which a node has `rails`.
struct NodeLevel {
  std::int64_t workers = 1;
  std::optional<double> alpha, beta;  ///< seconds, s/B; may be left out beside what was measured as a whole
  std::int64_t rails = 1;
  SourceLocation place;
};

/// What pushes to parameter servers and pulls from them have between hosts, in the place of the network's own.
struct ServerLinks {
  std::optional<double> alpha, beta;  ///< seconds, s/B; the network's own where they are missing
};

/// A start-up between nodes, where so many take part.
struct AlphaOfNodes {
  std::int64_t nodes = 1;
  double alpha = 0;  ///< seconds
};

/// What a calibration found the constants of one level to be worth.
struct LevelScale {
  double bandwidth = 1, latency = 1;
};
struct NetworkScale : LevelScale {
  double tree = 1;  ///< of a tree's bandwidth in Simple and LL128, on three nodes and more
  double ll = 1;    ///< of LL's, ring and tree
};

/// What messages between nodes take more from a size on, since both ends have to meet first.
struct NcclRendezvous {
  Bytes from = 0;   ///< collectives of more bytes
  double time = 0;  ///< seconds a hop
};

/// What NCCL's cost model wants to know of the machines (sim/collective/nccl.hpp).
struct NcclSetup {
  enum class Gpu : std::uint8_t { Volta, Ampere, Hopper, Blackwell };
  Gpu gpu = Gpu::Volta;
  bool pcie = false;  ///< inside a node; else NVLink
  bool amd = false;   ///< the processor; else Intel
  std::optional<std::int64_t> channels;
  bool nvls = true, ll128 = true;
  bool two_node_tree = true;  ///< on two nodes a tree sends half of what a ring sends
  bool pat = false;           ///< may gather and scatter by PAT, where a node has one GPU
  std::optional<NcclRendezvous> rendezvous;
  LevelScale node;
  NetworkScale network;
  SourceLocation place;
};

/// What one message from a worker to another costs: seconds, and seconds per byte.
struct MessageCost {
  double alpha = 0, beta = 0;
};

/// The communication side of a cluster file. Names (collective, fidelity) are checked by who knows them; `place`
/// is where a complaint about them points.
struct Network {
  std::optional<double> alpha;  ///< start-up per message, on top of a topology's links; seconds
  /// Where it depends on how many nodes there are, which settle_alpha() is told; nodes increasing.
  std::vector<AlphaOfNodes> alpha_of_nodes;
  std::optional<double> beta;  ///< transfer time per byte, seconds
  double gamma = 0;            ///< reduction time per byte, seconds
  std::optional<MeasuredCost> measured;
  std::vector<CostPoint> table;
  std::vector<WorkersTable> tables;  ///< workers increasing
  std::optional<NodeLevel> node;
  std::optional<ServerLinks> server;
  std::optional<NcclSetup> nccl;
  std::optional<MessageCost> p2p;        ///< of sends between the ranks of a pipeline; none: as any message
  std::optional<TopologySpec> topology;  ///< beta may then be left to it
  std::optional<double> line_rate;       ///< of the named links, bytes per second: costs that beat it are warned of
  std::string collective = "ring";
  std::vector<std::pair<std::string, std::string>>
      by_operation;              ///< operation and collective, where the file tells them apart
  bool names_collective = true;  ///< false: a strategy that has one of its own goes before
  std::string fidelity;          ///< "": the usual one (collective_of)
  std::vector<std::pair<std::string, std::string>> options;  ///< defaults for this cluster: sharing, servers, …
  SourceLocation place;
};

/// How much slower workers compute while any of their transfers is in flight; or, with `at`, in proportion to the rate
/// at which its bytes move.
struct Interference {
  double compute = 1;        ///< at least 1
  std::optional<double> at;  ///< bytes per second at which it is `compute`
};

struct Cluster {
  std::string name;
  std::int64_t workers = 0;
  Network network;
  std::optional<Interference> interference;
  bool in_words = false;  ///< described by flags (cluster_words.hpp)
  /// Of "parallel": degrees and schedule, as options have them, and where each stands.
  std::vector<std::pair<std::string, std::string>> parallel;
  SourceLocation place;
};

/// What the detailed fidelities run on: the file's topology, or the one of kind `rail` that "node" with its links
/// stands for, of links without latency; nothing where the network gives the cost of whole collectives only. Throws
/// InputError for links that take no time per byte.
std::optional<TopologySpec> topology_of(const Network& network);

/// Throws InputError where a topology places ranks elsewhere than in the nodes that stand beside it.
void require_placed_in_nodes(const Network& network);

/// Reads the keys "name", "workers", "network" and "interference" of a cluster file. Throws InputError. `counts`:
/// it has to say how many workers there are; else 0 where it does not.
Cluster read_cluster(const Json& json, bool counts = true);

inline constexpr std::int64_t most_workers = 1 << 24;

}  // namespace allreplay
