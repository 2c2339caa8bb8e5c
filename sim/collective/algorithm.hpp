// The collectives by name: what each costs alone on a network of alpha-beta links, and its rounds of messages.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collective/rounds.hpp"
#include "sim/core/error.hpp"

namespace allreplay {

enum class TreeBandwidth : std::uint8_t {
  Paper,     ///< b = β + γ, as MG-WFBP's Table 2 prints it: below the bandwidth bound of any all-reduce
  Physical,  ///< b = 2β + γ
};

/// Where a parameter server's servers are.
enum class ServerHosts : std::uint8_t {
  Colocated,  ///< on the workers' hosts: pushes and pulls share their ports
  Dedicated,  ///< on hosts of their own with a port each
};

struct CollectiveOptions {
  std::int64_t servers = 0;  ///< of a parameter server; 0: one on every worker, or with local sums one a node
  ServerHosts server_hosts = ServerHosts::Colocated;
  bool local = false;  ///< the nodes sum before they push
  TreeBandwidth tree_bandwidth = TreeBandwidth::Physical;
  std::int64_t chunks = 16;  ///< per tree of double-binary-tree; of chain
  std::int64_t groups = 1;   ///< of hierarchical: so many, of consecutive workers
  std::int64_t hosts = 1;    ///< of in-network: so many
  std::int64_t levels = 1;   ///< of bml: k of the BCube(n, k) that it runs on; on other networks 1
  // Of ring, reduce-scatter and double-binary-tree on two levels, message by message:
  InNodes in_nodes = {};   ///< empty: one level
  std::int64_t rails = 1;  ///< so many at once
};

/// What of an all-reduce can be had alone.
enum class Halves : std::uint8_t {
  None,
  Scattered,  ///< a reduce-scatter and an all-gather
  Rooted,     ///< a reduction to a root and a broadcast from there: no scatter and gather of their own
};

/// T(M) = a + b·M with a = alpha·α and b = beta·β + gamma·γ.
struct Coefficients {
  double alpha = 0;
  double beta = 0;
  double gamma = 0;
};

struct NodeSymbols;   // two_level.hpp
struct TransferCost;  // likewise

struct Algorithm {
  std::string_view name;
  std::string_view summary;
  std::string_view start_up, per_byte;  ///< `coefficients`, as people read them
  std::string_view workers;             ///< among how many its messages can run
  // The one of CollectiveOptions, as users name it, that its closed form and that its messages depend on; "" if none.
  std::string_view option;
  std::string_view message_option;
  /// Dimensionless, for N >= 2 workers; logarithms are real, base 2, where N is no power of two. Null, as `rounds` is,
  /// for what no α and β price (nccl.hpp).
  std::function<Coefficients(double workers, const CollectiveOptions& options)> coefficients;
  /// The same on nodes of several workers; null where there is no closed form.
  TransferCost (*on_nodes)(const NodeSymbols& symbols) = nullptr;
  /// What it does; of an all-gather and a selection the block is one worker's.
  CollectiveOp operation = CollectiveOp::AllReduce;
  /// See rounds_of().
  std::function<Rounds(std::int64_t workers, const CollectiveOptions& options, CollectiveOp op,
                       const SourceLocation& place)>
      rounds = nullptr;
  Halves halves = Halves::Scattered;
  bool servers = false;             ///< blocks go to servers and back
  bool full_nodes = false;          ///< `on_nodes` serves no last node that is part empty
  bool grouped = false;             ///< goes in groups of consecutive ranks, which nodes are
  std::string_view broadcast = "";  ///< the row that broadcasts as it does
  bool in_switches = false;         ///< switches sum and copy
  bool from_file = false;           ///< collective_file.hpp
};

std::span<const Algorithm> algorithms();

/// Whether `op` is all that the algorithm does (what it does by itself counts as an all-reduce, too); else it is a
/// half.
bool is_whole(const Algorithm& algorithm, CollectiveOp op);

/// Whether its block is one worker's payload, of which everybody gets N, unless it is asked for as an all-gather: of
/// 1/N each.
bool gathers_payloads(const Algorithm& algorithm);

/// The algorithm that carries out `op` where this one is named: itself, or the row that broadcasts, or sends, as it
/// does. Null: it cannot.
const Algorithm* serving(const Algorithm& algorithm, CollectiveOp op);

/// The messages of one op, for N >= 2 workers. Throws InputError at `place` for numbers of workers that the
/// algorithm cannot serve message by message, for halves that it does not have, and for nccl.
Rounds rounds_of(const Algorithm& algorithm, std::int64_t workers, const CollectiveOptions& options, CollectiveOp op,
                 const SourceLocation& place);

/// Throws InputError at `place`, naming the nearest known one.
const Algorithm& find_algorithm(std::string_view name, const SourceLocation& place);

}  // namespace allreplay
