// What connects the workers: hosts, switches, full-duplex links, and the way from host to host.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

/// How often each link is used by many routes, one after another.
class RouteCount {
 public:
  virtual ~RouteCount() = default;

  /// So many routes more. Gives `latency` plus those of the route's links, in their order.
  virtual double add(NodeId from, NodeId to, std::int64_t times, double latency) = 0;

  /// Adds what was counted to `loads`, by LinkId, and starts again.
  virtual void take(std::span<double> loads) = 0;
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
  std::int64_t machines() const { return hosts_ / gpus_per_host_; }
  std::int64_t nodes() const { return hosts_ + switches_ + (gpus_per_host_ > 1 ? machines() : 0); }
  /// The node of a machine that links to the network: the host itself, or what its GPUs hang on.
  NodeId machine_node(std::int64_t machine) const {
    return static_cast<NodeId>(gpus_per_host_ > 1 ? hosts_ + switches_ + machine : machine);
  }
  std::span<const Link> links() const { return links_; }

  /// So many consecutive ranks, from each multiple on, sit closest together (in one machine, under one edge switch);
  /// 1 where no such group stands out.
  std::int64_t group_size() const { return group_size_; }

  /// Where a rank sits.
  virtual NodeId seat(NodeId rank) const { return rank; }

  /// Appends the links from rank to rank, in order; nothing when they are the same. Computed, not stored, wherever
  /// the structure gives a rule. May be called from several threads.
  virtual void route(NodeId from, NodeId to, std::vector<LinkId>& path) const = 0;

  /// Walks each route, where the shape knows no shorter way. REQUIRES: the topology outlives it.
  virtual std::unique_ptr<RouteCount> route_count() const;

  /// From each of `from` to each other one of `to`, in closed form: adds to `loads`, by LinkId, how many routes
  /// use a link, and appends pairs of ranks among whose routes, inside machines and between them, are those with the
  /// most and the least latency. False, and nothing added: where only walking tells.
  virtual bool count_all(Census /*from*/, Census /*to*/, std::span<double> /*loads*/,
                         std::vector<HostPair>& /*ends*/) const {
    return false;
  }

  /// As files and DOT name it: "h0", "edge3".
  virtual std::string name(NodeId node) const = 0;

 protected:
  std::int64_t hosts_ = 0;
  std::int64_t switches_ = 0;
  std::int64_t gpus_per_host_ = 1;
  std::int64_t group_size_ = 1;
  std::vector<Link> links_;
};

}  // namespace allreplay
