// What connects the workers: hosts, switches, full-duplex links, and the way from host to host.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/error.hpp"

namespace allreplay {

/// Hosts first (0 … hosts − 1), then switches, then, where hosts have several GPUs, the hosts' own nodes.
using NodeId = std::uint32_t;
using LinkId = std::uint32_t;

/// One direction of a link. The two directions have ids 2c and 2c + 1.
struct Link {
  NodeId from = 0;
  NodeId to = 0;
  double latency = 0;    ///< seconds
  double bandwidth = 0;  ///< bytes per second; 0: the link is down, and no route uses it
};

/// Which of several ways messages take.
struct Routing {
  enum class Kind : std::uint8_t {
    ByDestination,  ///< d-mod-k: one, by the receiver
    Ecmp,           ///< one for each flow, by a hash of sender, receiver and channel
    Adaptive,       ///< all of them evenly
  };
  Kind kind = Kind::ByDestination;
  std::int64_t flows = 1;  ///< of ecmp: equal parts of a message
  std::uint64_t seed = 1;  ///< of its hash
  SourceLocation place;
  bool given = false;  ///< by the file, or in its place
};

/// A link that a message uses, for that part of its bytes.
struct LinkShare {
  LinkId link = 0;
  double share = 1;
};

class Topology;

/// Of many routes, one after another: how often each link is used, and the most of what their links weigh.
class RouteCount {
 public:
  /// REQUIRES: the topology outlives it.
  explicit RouteCount(const Topology& topology) : topology_(topology) {}
  virtual ~RouteCount() = default;

  /// So many routes more. Gives `latency` plus those of the route's links, in their order.
  /// `stream`: of the sender, which ecmp asks for. Where a message has several ways: the longest of them.
  virtual double add(NodeId from, NodeId to, std::uint32_t stream, std::int64_t times, double latency) = 0;

  /// Adds what was counted to `loads`, by LinkId, and starts again.
  virtual void take(std::span<double> loads) = 0;

  /// What most() is asked of, by LinkId, at least 0. REQUIRES: `weights` outlives these questions.
  virtual void weigh(std::span<const double> weights) { weights_ = weights; }

  /// The largest weight on the route, or on any of its ways. REQUIRES: weigh() was called.
  virtual double most(NodeId from, NodeId to, std::uint32_t stream);

 protected:
  const Topology& topology_;
  std::span<const double> weights_;
  std::vector<LinkId> path_;
  std::vector<LinkShare> shares_;
};

/// By rank, how many; and two ranks.
using Census = std::span<const std::int64_t>;
using HostPair = std::pair<NodeId, NodeId>;

class Topology {
 public:
  virtual ~Topology() = default;

  /// Where ranks sit: rank i on host i, unless it is placed elsewhere. With several GPUs per host each GPU is a "host"
  /// here, consecutive ones in one machine.
  std::int64_t hosts() const { return hosts_; }
  std::int64_t switches() const { return switches_; }
  std::int64_t gpus_per_host() const { return gpus_per_host_; }
  std::int64_t nics() const { return nics_; }      ///< of a machine, where its cables have names of their own; else 0
  std::int64_t planes() const { return planes_; }  ///< networks side by side
  std::int64_t machines() const { return hosts_ / gpus_per_host_; }
  std::int64_t nodes() const { return hosts_ + switches_ + (gpus_per_host_ > 1 ? machines() : 0); }
  /// The node of a machine that links to the network: the host itself, or what its GPUs hang on.
  NodeId machine_node(std::int64_t machine) const {
    return static_cast<NodeId>(gpus_per_host_ > 1 ? hosts_ + switches_ + machine : machine);
  }
  virtual std::span<const Link> links() const { return links_; }

  /// So many consecutive ranks, from each multiple on, sit closest together (in one machine, under one edge switch);
  /// 1 where no such group stands out.
  std::int64_t group_size() const { return group_size_; }

  /// Where a rank sits.
  virtual NodeId seat(NodeId rank) const { return rank; }

  /// Appends the links from rank to rank, in order; nothing when they are the same. Computed, not stored, wherever
  /// the structure gives a rule. May be called from several threads.
  virtual void route(NodeId from, NodeId to, std::vector<LinkId>& path) const = 0;

  /// The shape's ways from rank to rank: up and down through each of its spines or cores, or all shortest ones of a
  /// graph; those over links that are down left out. Numbered by spine; by aggregation, then core; by links as listed,
  /// the sender's first. One: route().
  virtual std::uint64_t way_count(NodeId /*from*/, NodeId /*to*/) const { return 1; }
  virtual void way(NodeId from, NodeId to, std::uint64_t /*number*/, std::vector<LinkId>& path) const {
    route(from, to, path);
  }

  const Routing& routing() const { return routing_; }
  void set_routing(const Routing& routing) { routing_ = routing; }

  /// In how many parts a message travels, each on one way; and the way of one of them, appended. REQUIRES: the routing
  /// is not adaptive.
  std::uint32_t parts() const;
  void route_part(NodeId from, NodeId to, std::uint32_t stream, std::uint32_t part, std::vector<LinkId>& path) const;

  /// How many ways shares() walks: all of them, or that of each part.
  std::uint64_t ways_walked(NodeId from, NodeId to) const;

  /// Appends the links that a message uses, each once, in all its parts or on all its ways. Gives `latency` plus those
  /// of its longest way. Throws InputError for graphs with too many ways to list.
  double shares(NodeId from, NodeId to, std::uint32_t stream, double latency, std::vector<LinkShare>& links) const;

  /// Walks each route, where the shape knows no shorter way. REQUIRES: the topology outlives it.
  virtual std::unique_ptr<RouteCount> route_count() const;

  /// From each of `from` to each other one of `to`, in closed form: adds to `loads`, by LinkId, how many routes
  /// use a link, and appends pairs of ranks among whose routes, inside machines and between them, are those with the
  /// most and the least latency. False, and nothing added: where only walking tells.
  virtual bool count_all(Census /*from*/, Census /*to*/, std::span<double> /*loads*/,
                         std::vector<HostPair>& /*ends*/) const {
    return false;
  }

  /// The links up from these ranks to the lowest switch above all of them, each once: of several such switches number
  /// `tree` counts. Of `rail` the switch of rail `tree`. Empty: of kinds that have no such trees.
  virtual std::vector<LinkId> tree_above(std::uint32_t /*tree*/, std::span<const NodeId> /*ranks*/) const { return {}; }

  /// Where a link begins: its node, or, where hosts have several NICs, one of those. They are numbered behind all
  /// nodes.
  virtual NodeId port(LinkId link) const { return links()[link].from; }

  /// The plane that a link belongs to, and that of messages to a rank. None: all planes' (a GPU's own link).
  virtual std::optional<std::uint32_t> plane_of(LinkId /*link*/) const { return std::nullopt; }
  virtual std::uint32_t plane_to(NodeId /*rank*/) const { return 0; }

  /// As files and DOT name it: "h0", "edge3"; of a NIC "h0.nic2".
  virtual std::string name(NodeId node) const = 0;

 protected:
  std::int64_t hosts_ = 0;
  std::int64_t switches_ = 0;
  std::int64_t gpus_per_host_ = 1;
  std::int64_t group_size_ = 1;
  std::int64_t nics_ = 0;
  std::int64_t planes_ = 1;
  Routing routing_;
  std::vector<Link> links_;
};

}  // namespace allreplay
