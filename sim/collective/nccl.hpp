// NCCL's own model of what its collectives cost: of every algorithm and protocol, and which of them its tuner chooses.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/call.hpp"
#include "sim/collective/comm_cost.hpp"
#include "sim/collective/two_level.hpp"
#include "sim/core/collective_op.hpp"

namespace allreplay {

/// An algorithm and protocol at some size: start_up + bytes / bandwidth.
struct NcclChoice {
  std::string_view algorithm;  ///< ring, tree, nvls or pat
  std::string_view protocol;   ///< LL, LL128 or Simple
  double start_up = 0;         ///< seconds
  double bandwidth = 0;        ///< bytes of the block per second
  /// The same if nothing but links inside a node limited it, and nothing but those between nodes.
  std::array<double, 2> on_links{};
  // What the start-up is made of: once, and for each message inside a node and between nodes; seconds.
  double base = 0, inside = 0, between = 0;
};

/// The longest hops of the model, those in Simple; seconds.
struct NcclHops {
  double inside = 0, between = 0;
};
NcclHops longest_hops(const NcclSetup& setup);

/// The cost of a message on top of its links if NCCL's model does not price it, between nodes and inside one; seconds:
/// the alpha of the level, or, if that is 0 and NCCL runs there, NCCL's start-up of a small send, in which the latency
/// of the topology's links is part of the hop. `otherwise`: the alpha inside a node that states none.
double start_up_between(const Network& network);
double start_up_inside(const Network& network, double otherwise = 0);

/// The network as NCCL sees it: two levels, those of its topology's hosts, inner links and links where it has no node;
/// and no topology. REQUIRES: network.nccl.
Network nccl_levels(const Network& network);

/// Throws InputError where the network's file says nothing of what runs NCCL, naming what is missing.
void require_nccl(const Network& network, std::string_view algorithm);

/// Whether the model prices, and chooses, what the call sends: not what goes between two, or from all to all.
bool is_nccl(const Call& call);

/// What carries out an operation of the algorithm that NCCL has chosen, in 16 chunks where it goes in chunks.
const Algorithm& nccl_algorithm(std::string_view chosen, CollectiveOp op);

/// The least of all choices at every size, after src/graph/tuning.cc of NCCL 2.30 with its constants, but for NVLSTree
/// and CollNet. Start-ups are the model's own, on top of which the network's alpha comes for every message
/// between nodes. A reduce-scatter and an all-gather have rings and NVLS of their own; sizes are of the whole block.
class NcclPrice final : public SizePrice {
 public:
  /// REQUIRES: network.nccl, with node and bandwidths, and two workers or more.
  NcclPrice(const Network& network, const NodeLayout& layout, CollectiveOp op);
  NcclPrice(const Network& network, std::int64_t workers, CollectiveOp op)
      : NcclPrice(network, layout_of(workers, network.node->workers), op) {}

  NcclChoice choice(double bytes) const;
  std::vector<NcclChoice> choices(double bytes) const;  ///< from which it takes that
  std::vector<std::string_view> algorithms() const;     ///< of these, each once; a ring first
  double seconds(double bytes) const override;
  double start_up(double bytes) const override { return choice(bytes).start_up; }
  double least(double bytes) const override;

 private:
  NcclChoice broadcast(int protocol, double bytes) const;
  NcclChoice ring(int protocol, double bytes) const;
  NcclChoice tree(int protocol, double bytes) const;
  NcclChoice nvls() const;
  NcclChoice pat(double bytes) const;
  double nvls_speed() const;             // of a channel; 0: there is no NVLS
  double ll_part() const;                // of LL's bandwidth
  double ring_bus(int protocol) const;   // GB/s
  double ring_part(int protocol) const;  // of links
  double tree_part(int protocol) const;  // likewise
  // GB/s, of a bus; on two nodes no more than half of what goes inside.
  double tree_reach(int protocol, double scale, double bus, double inside, double bytes) const;
  template <class BandwidthOf>
  std::array<double, 2> on_links(BandwidthOf of) const;  // of what each level's links carry
  double rendezvous(double bytes, double hops) const;    // us
  template <class Visit>
  void each_choice(double bytes, Visit visit) const;

  NcclSetup setup_;
  CollectiveOp op_;
  double workers_, nodes_, per_node_;  // n, N and n/N
  bool one_gpu_;                       // in a node, at most
  double channels_;
  double node_bandwidth_;
  double bus_;                   // GB/s, as the data sheets say
  double scale_;                 // what a calibration makes of it
  std::array<double, 2> links_;  // GB/s, likewise: inside a node, and of its ports
  double alpha_;                 // between nodes, us
};

/// Of the call among the groups of its family, of `workers` workers. REQUIRES: `levels` is what nccl_levels() says, and
/// groups have two ranks or more.
NcclPrice nccl_price(const Network& levels, const Call& call, std::int64_t workers);

}  // namespace allreplay
