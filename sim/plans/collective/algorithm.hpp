// The table of collective algorithms: name, closed-form cost on a network of alpha-beta links, rounds of messages.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/plans/collective/rounds.hpp"

namespace allreplay {

enum class TreeBandwidth : std::uint8_t {
  Paper,     ///< b = β + γ, as MG-WFBP's Table 2 prints it: below the bandwidth bound of any all-reduce
  Physical,  ///< b = 2β + γ
};

/// The hosts of parameter servers.
enum class ServerHosts : std::uint8_t {
  Colocated,  ///< the workers' hosts; pushes and pulls share their ports
  Dedicated,  ///< additional hosts, with one port each
};

struct CollectiveOptions {
  std::int64_t servers = 0;  ///< of a parameter server; 0: one per worker, or with local sums one per node
  ServerHosts server_hosts = ServerHosts::Colocated;
  bool local = false;  ///< parameter server: each node sums before it pushes
  TreeBandwidth tree_bandwidth = TreeBandwidth::Physical;
  std::int64_t chunks = 16;  ///< of chain, and per tree of double-binary-tree
  std::int64_t groups = 1;   ///< hierarchical: the number of groups of consecutive workers
  std::int64_t hosts = 1;    ///< in-network: the number of hosts
  std::int64_t levels = 1;   ///< bml: the k of its BCube(n, k); 1 on other networks
  // For the messages of ring, reduce-scatter and double-binary-tree on two levels:
  InNodes in_nodes = {};   ///< empty: one level
  std::int64_t rails = 1;  ///< the number of simultaneous rings, or pairs of trees

  bool operator==(const CollectiveOptions&) const = default;
};

/// The kind of halves that an all-reduce consists of.
enum class Halves : std::uint8_t {
  None,
  Scattered,  ///< a reduce-scatter and an all-gather, which are also available separately
  Rooted,     ///< a reduction to a root and a broadcast from it, which are not
};

/// T(M) = a + b·M with a = alpha·α and b = beta·β + gamma·γ.
struct Coefficients {
  double alpha = 0;
  double beta = 0;
  double gamma = 0;
};

struct NodeSymbols;   // two_level.hpp
struct TransferCost;  // two_level.hpp

struct Algorithm {
  std::string_view name;
  std::string_view summary;
  std::string_view start_up, per_byte;  ///< `coefficients` as text
  std::string_view workers;             ///< the numbers of workers for which it has rounds, as text
  // The option on which its closed form, or its messages, depend, as users name it; "" if none.
  std::string_view option;
  std::string_view message_option;
  /// The coefficients for N >= 2 workers; log N is real-valued if N is not a power of two. Null, like `rounds`, for
  /// nccl, which has its own cost model (nccl.hpp).
  std::function<Coefficients(double workers, const CollectiveOptions& options)> coefficients;
  /// The closed form on nodes of several workers; null if there is none.
  TransferCost (*on_nodes)(const NodeSymbols& symbols) = nullptr;
  /// The block of an all-gather or a selection is the payload of one worker.
  CollectiveOp operation = CollectiveOp::AllReduce;
  /// See rounds_of().
  std::function<Rounds(std::int64_t workers, const CollectiveOptions& options, CollectiveOp op,
                       const SourceLocation& place)>
      rounds = nullptr;
  Halves halves = Halves::Scattered;
  bool servers = false;             ///< blocks are pushed to servers and pulled back
  bool full_nodes = false;          ///< `on_nodes` requires that the last node is full
  bool grouped = false;             ///< works in groups of consecutive ranks, such as nodes
  std::string_view broadcast = "";  ///< the algorithm that broadcasts in its place; "" if none
  bool in_switches = false;         ///< switches sum and copy
  bool from_file = false;           ///< read by collective_file.hpp
};

std::span<const Algorithm> algorithms();

/// True if `op` is the whole algorithm (its own operation, or AllReduce); otherwise `op` is one of its halves.
bool is_whole(const Algorithm& algorithm, CollectiveOp op);

/// True if the block is one worker's payload, of which every worker receives N. If such an algorithm is called as an
/// all-gather, each payload is 1/N of the block instead.
bool gathers_payloads(const Algorithm& algorithm);

/// The algorithm that carries out `op` if `algorithm` is chosen: itself, or its substitute. Null if there is none.
const Algorithm* serving(const Algorithm& algorithm, CollectiveOp op);

/// The messages of `op` for N >= 2 workers. Throws InputError at `place` if the algorithm has no messages for that
/// number of workers, or no such half, and for nccl.
Rounds rounds_of(const Algorithm& algorithm, std::int64_t workers, const CollectiveOptions& options, CollectiveOp op,
                 const SourceLocation& place);

/// Throws InputError at `place`, with the nearest known name.
const Algorithm& find_algorithm(std::string_view name, const SourceLocation& place);

}  // namespace allreplay
