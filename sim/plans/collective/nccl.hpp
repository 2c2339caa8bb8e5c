// NCCL's cost model of its collectives: the cost of every algorithm and protocol, and the choice that its tuner makes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/core/collective_op.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/plans/collective/call.hpp"
#include "sim/plans/collective/comm_cost.hpp"
#include "sim/plans/collective/two_level.hpp"

namespace allreplay {

/// An algorithm and protocol at some size: start_up + bytes / bandwidth.
struct NcclChoice {
  std::string_view algorithm;  ///< ring, tree, nvls or pat
  std::string_view protocol;   ///< LL, LL128 or Simple
  double start_up = 0;         ///< seconds
  double bandwidth = 0;        ///< bytes of the block per second
  /// The bandwidth if only the links inside a node limited it, and if only those between nodes did.
  std::array<double, 2> on_links{};
  // The parts of the start-up in seconds: once, per message inside a node, and per message between nodes.
  double base = 0, inside = 0, between = 0;
};

/// The model's latencies of the slowest hops, which are those in Simple; seconds.
struct NcclHops {
  double inside = 0, between = 0;
};
NcclHops longest_hops(const NcclSetup& setup);

/// The cost in seconds, beyond its links, of a message that NCCL's model does not price, between nodes and inside a
/// node: the alpha of the level or, if that is 0 and NCCL runs there, NCCL's start-up of a small send less the latency
/// of the topology's links. `otherwise`: the alpha inside a node that states none.
double start_up_between(const Network& network);
double start_up_inside(const Network& network, double otherwise = 0);

/// The network as NCCL sees it: two levels and no topology. Without a "node" in the file, the levels are those of the
/// topology's hosts, inner links and links. REQUIRES: network.nccl.
Network nccl_levels(const Network& network);

/// Throws InputError, with the missing key, if the network's file does not describe the hardware that runs NCCL.
void require_nccl(const Network& network, std::string_view algorithm);

/// True if NCCL's model chooses and prices the call's algorithm; it does not for sends and all-to-alls.
bool is_nccl(const Call& call);

/// The algorithm whose rounds carry out `op` if NCCL has chosen `chosen`. Pipelined ones use 16 chunks.
const Algorithm& nccl_algorithm(std::string_view chosen, CollectiveOp op);

/// The cost of the fastest choice at every size, after src/graph/tuning.cc of NCCL 2.30 with its constants, without
/// NVLSTree and CollNet. Start-ups are those of the model plus the network's alpha per message between nodes.
/// Reduce-scatter and all-gather are priced as operations of their own; sizes are those of the whole block.
class NcclPrice final : public SizePrice {
 public:
  /// REQUIRES: network.nccl, with node and bandwidths, and two workers or more.
  NcclPrice(const Network& network, const NodeLayout& layout, CollectiveOp op);
  NcclPrice(const Network& network, std::int64_t workers, CollectiveOp op)
      : NcclPrice(network, layout_of(workers, network.node->workers), op) {}

  NcclChoice choice(double bytes) const;
  std::vector<NcclChoice> choices(double bytes) const;  ///< all candidates of choice()
  std::vector<std::string_view> algorithms() const;     ///< the candidates' algorithms, each once; the ring first
  Cost of(double bytes) const override;
  double least(double bytes) const override;

 private:
  NcclChoice broadcast(int protocol, double bytes) const;
  NcclChoice ring(int protocol, double bytes) const;
  NcclChoice tree(int protocol, double bytes) const;
  NcclChoice nvls() const;
  NcclChoice pat(double bytes) const;
  double nvls_speed() const;                 // of a channel, GB/s; 0 without NVLS
  double ll_factor() const;                  // the calibrated factor on LL's bandwidth
  double ring_bus(int protocol) const;       // the bandwidth of the bus, GB/s
  double ring_fraction(int protocol) const;  // the fraction of a link's bandwidth that a ring reaches
  double tree_fraction(int protocol) const;  // the same for a tree
  // The bandwidth of a tree on a bus, GB/s; on two nodes at most half of `inside`.
  double tree_bandwidth(int protocol, double scale, double bus, double inside, double bytes) const;
  template <class BandwidthOf>
  std::array<double, 2> on_links(BandwidthOf of) const;  // `of` the bandwidth of each level's links
  double rendezvous(double bytes, double hops) const;    // us
  template <class Visit>
  void for_each_choice(double bytes, Visit visit) const;

  NcclSetup setup_;
  CollectiveOp op_;
  double workers_, nodes_, per_node_;
  bool one_gpu_;  // per node, at most
  double channels_;
  double node_bandwidth_;
  double bus_;                   // GB/s, uncalibrated
  double scale_;                 // calibration factor of bus_
  std::array<double, 2> links_;  // GB/s, calibrated: inside a node, and of a node's ports
  double alpha_;                 // between nodes, us
};

/// The price of a call by all groups of its family, among `workers` workers in total. REQUIRES: `levels` comes from
/// nccl_levels(), and groups have at least two ranks.
NcclPrice nccl_price(const Network& levels, const Call& call, std::int64_t workers);

}  // namespace allreplay
