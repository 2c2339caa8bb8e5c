// What connects the workers: hosts, switches, full-duplex links, and the way from host to host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace allreplay {

using NodeId = std::uint32_t;  ///< hosts first (0 … hosts − 1), then switches
using LinkId = std::uint32_t;

/// One direction of a link.
struct Link {
  NodeId from = 0;
  NodeId to = 0;
  double latency = 0;    ///< seconds
  double bandwidth = 0;  ///< bytes per second
};

class Topology {
 public:
  virtual ~Topology() = default;

  std::int64_t hosts() const { return hosts_; }
  std::int64_t switches() const { return switches_; }
  std::span<const Link> links() const { return links_; }

  /// Appends the links from host to host, in order; nothing when they are the same. Computed, not stored, wherever
  /// the structure gives a rule.
  virtual void route(NodeId from, NodeId to, std::vector<LinkId>& path) const = 0;

 protected:
  std::int64_t hosts_ = 0;
  std::int64_t switches_ = 0;
  std::vector<Link> links_;
};

}  // namespace allreplay
