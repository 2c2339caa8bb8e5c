#include <fmt/format.h>

#include "sim/inputs/cluster/shapes.hpp"

namespace allreplay {

namespace {

class Star final : public Topology {
 public:
  Star(std::int64_t hosts, const LinkSpec& link) {
    hosts_ = hosts;
    switches_ = 1;
    links_.reserve(static_cast<std::size_t>(2 * hosts));
    const auto hub = static_cast<NodeId>(hosts);
    for (NodeId host = 0; host < hub; ++host) {
      add_link(host, hub, link);
    }
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override {
    if (from == to) return;
    path.push_back(2 * from);
    path.push_back(2 * to + 1);
  }

  bool count_all(Census from, Census to, std::span<double> loads, std::vector<HostPair>& ends) const override {
    count_at_ends(from, to, 0, loads);
    if (const auto pair = apart(from, to)) ends.push_back(*pair);
    return true;
  }

  std::vector<LinkId> tree_above(std::uint32_t, std::span<const NodeId> ranks) const override {
    std::vector<LinkId> up;
    for (const NodeId host : ranks) up.push_back(2 * host);
    return up;
  }

  std::string name(NodeId node) const override { return node < hosts_ ? fmt::format("h{}", node) : "s0"; }
};

}  // namespace

std::unique_ptr<Topology> make_star(std::int64_t hosts, const LinkSpec& link) {
  return std::make_unique<Star>(hosts, link);
}

}  // namespace allreplay
