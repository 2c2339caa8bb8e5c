// The network between workers: hosts, switches, full-duplex links, and routes from host to host.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/core/error.hpp"

namespace allreplay {

/// Hosts (0 … hosts − 1), then switches, then the nodes of machines if these have several GPUs (see Topology::hosts).
using NodeId = std::uint32_t;
using LinkId = std::uint32_t;

/// One direction of a link. The two directions have ids 2c and 2c + 1.
struct Link {
  NodeId from = 0;
  NodeId to = 0;
  double latency = 0;    ///< seconds
  double bandwidth = 0;  ///< bytes per second; 0: the link is down, and no route uses it
};

struct LinkSpec {
  double latency = 0;    ///< seconds
  double bandwidth = 0;  ///< bytes per second

  bool operator==(const LinkSpec&) const = default;
};

/// The rule that chooses among several ways from host to host.
struct Routing {
  enum class Kind : std::uint8_t {
    ByDestination,  ///< d-mod-k: one way, chosen by the receiver
    Ecmp,           ///< one way for each flow, by a hash of sender, receiver and channel
    Adaptive,       ///< all ways evenly
  };
  Kind kind = Kind::ByDestination;
  std::int64_t flows = 1;  ///< ecmp: the number of equal parts of a message
  std::uint64_t seed = 1;  ///< ecmp: seed of the hash
  SourceLocation place;
  bool given = false;  ///< true if the file or an option chose the routing
  /// True if an option names them: results then show them even if they are the defaults, as they show those of others.
  bool flows_named = false, seed_named = false;

  bool operator==(const Routing&) const = default;
};

/// A link that a message uses, and the share of its bytes that cross it.
struct LinkShare {
  LinkId link = 0;
  double share = 1;
};

class Topology;

/// Counts how often routes use each link, and finds the largest weight of a route's links.
class RouteCount {
 public:
  /// REQUIRES: the topology outlives it.
  explicit RouteCount(const Topology& topology) : topology_(topology) {}
  virtual ~RouteCount() = default;

  /// Counts a route `times` times. Returns `latency` plus the latencies of the route's links, added in their order; of
  /// the longest way if a message has several. `stream`: the sender's channel, for ecmp.
  virtual double add(NodeId from, NodeId to, std::uint32_t stream, std::int64_t times, double latency) = 0;

  /// Adds the counts to `loads`, by LinkId, and resets them.
  virtual void take(std::span<double> loads) = 0;

  /// Sets the weights for most(), by LinkId, at least 0. REQUIRES: `weights` outlives the calls of most().
  virtual void weigh(std::span<const double> weights) { weights_ = weights; }

  /// Returns the largest weight on the route, or on any way that a message takes. REQUIRES: weigh() was called.
  virtual double most(NodeId from, NodeId to, std::uint32_t stream);

 protected:
  const Topology& topology_;
  std::span<const double> weights_;
  std::vector<LinkId> path_;
  std::vector<LinkShare> shares_;
};

/// A number of senders or receivers by rank; and a pair of ranks.
using Census = std::span<const std::int64_t>;
using HostPair = std::pair<NodeId, NodeId>;

class Topology {
 public:
  virtual ~Topology() = default;

  /// The places for ranks: rank i is on host i, unless placed elsewhere. If machines have several GPUs, each GPU is a
  /// "host" here, and consecutive ones share a machine.
  std::int64_t hosts() const { return hosts_; }
  std::int64_t switches() const { return switches_; }
  std::int64_t gpus_per_host() const { return gpus_per_host_; }
  std::int64_t nics() const { return nics_; }      ///< of a machine, if they are named; else 0
  std::int64_t planes() const { return planes_; }  ///< copies of the network
  std::int64_t machines() const { return hosts_ / gpus_per_host_; }
  std::int64_t nodes() const { return hosts_ + switches_ + (gpus_per_host_ > 1 ? machines() : 0); }
  /// The node that links a machine to the network: the host itself, or the node to which its GPUs are linked.
  NodeId machine_node(std::int64_t machine) const {
    return static_cast<NodeId>(gpus_per_host_ > 1 ? hosts_ + switches_ + machine : machine);
  }
  virtual std::span<const Link> links() const { return links_; }

  /// The size of groups of consecutive ranks that are closest (in one machine, under one edge switch); else 1.
  std::int64_t group_size() const { return group_size_; }

  /// The host of a rank.
  virtual NodeId seat(NodeId rank) const { return rank; }

  /// Appends the links of the route between two ranks, in order; none if they are the same. Thread-safe.
  virtual void route(NodeId from, NodeId to, std::vector<LinkId>& path) const = 0;

  /// way_count(): the number of routes between two ranks: up and down through each spine or core, or all shortest paths
  /// of a graph, without those over links that are down. way() appends one of them; they are numbered by spine; by
  /// aggregation, then core; or by the order of links, the sender's first. A single way is route().
  virtual std::uint64_t way_count(NodeId /*from*/, NodeId /*to*/) const { return 1; }
  virtual void way(NodeId from, NodeId to, std::uint64_t /*number*/, std::vector<LinkId>& path) const {
    route(from, to, path);
  }

  const Routing& routing() const { return routing_; }
  void set_routing(const Routing& routing) { routing_ = routing; }

  /// parts(): the number of parts into which a message is split. route_part(): appends the route of one part. REQUIRES:
  /// the routing is not adaptive.
  std::uint32_t parts() const;
  void route_part(NodeId from, NodeId to, std::uint32_t stream, std::uint32_t part, std::vector<LinkId>& path) const;

  /// The number of ways that shares() walks: all (adaptive), or one per part.
  std::uint64_t ways_walked(NodeId from, NodeId to) const;

  /// Appends the links that the parts of a message use, each link once. Returns `latency` plus that of the longest way.
  /// Throws InputError if there are too many ways to list.
  double shares(NodeId from, NodeId to, std::uint32_t stream, double latency, std::vector<LinkShare>& links) const;

  /// Makes a counter, which walks each route unless the shape has a faster method. REQUIRES: the topology outlives it.
  virtual std::unique_ptr<RouteCount> route_count() const;

  /// Counts the routes from each rank of `from` to each other rank of `to` in closed form. Adds the uses of each link
  /// to `loads`, by LinkId, and appends to `ends` pairs of ranks that include the routes with the most and the least
  /// latency, inside machines and between them. Returns false and adds nothing if there is no closed form.
  virtual bool count_all(Census /*from*/, Census /*to*/, std::span<double> /*loads*/,
                         std::vector<HostPair>& /*ends*/) const {
    return false;
  }

  /// The links up from these ranks to the lowest switch above all of them, each once. If there are several such
  /// switches, `tree` chooses one; for kind `rail`, the switch of rail `tree`. Empty for kinds without such trees.
  virtual std::vector<LinkId> tree_above(std::uint32_t /*tree*/, std::span<const NodeId> /*ranks*/) const { return {}; }

  /// The node where a link begins or, if hosts have several NICs, the NIC. NICs are numbered after all nodes.
  virtual NodeId port(LinkId link) const { return links()[link].from; }

  /// The plane of a link (none for a GPU's own link, which all planes share), and the plane of messages to a rank.
  virtual std::optional<std::uint32_t> plane_of(LinkId /*link*/) const { return std::nullopt; }
  virtual std::uint32_t plane_to(NodeId /*rank*/) const { return 0; }

  /// The name of a node in files and DOT, "h0" or "edge3", and of a NIC, "h0.nic2".
  virtual std::string name(NodeId node) const = 0;

 protected:
  /// Adds both directions of a link; the first leads from `a` to `b`.
  void add_link(NodeId a, NodeId b, const LinkSpec& link) {
    links_.push_back({a, b, link.latency, link.bandwidth});
    links_.push_back({b, a, link.latency, link.bandwidth});
  }

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
