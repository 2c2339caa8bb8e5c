#include <set>

#include <fmt/format.h>

#include "sim/inputs/cluster/shapes.hpp"

namespace allreplay {

namespace {

// The order of the links: host x to its leaf, then leaf l to spine s (number l·spines + s), each in both directions.
class LeafSpine final : public Topology {
 public:
  explicit LeafSpine(const TopologySpec& spec)
      : leaves_(static_cast<std::uint32_t>(spec.leaves)),
        per_leaf_(static_cast<std::uint32_t>(spec.hosts_per_leaf)),
        spines_(static_cast<std::uint32_t>(spec.spines)) {
    hosts_ = spec.leaves * spec.hosts_per_leaf;
    switches_ = spec.leaves + spec.spines;
    group_size_ = spec.hosts_per_leaf;
    links_.reserve(2 * static_cast<std::size_t>(hosts_ + spec.leaves * spec.spines));
    const auto first_leaf = static_cast<NodeId>(hosts_);
    for (NodeId host = 0; host < first_leaf; ++host) add_link(host, first_leaf + host / per_leaf_, spec.link);
    up_ = static_cast<LinkId>(links_.size());
    const LinkSpec up{spec.link.latency, spec.uplink_bandwidth()};
    for (std::uint32_t leaf = 0; leaf < leaves_; ++leaf)
      for (std::uint32_t spine = 0; spine < spines_; ++spine)
        add_link(first_leaf + leaf, first_leaf + leaves_ + spine, up);
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override { way(from, to, to % spines_, path); }
  std::uint64_t way_count(NodeId from, NodeId to) const override {
    return from / per_leaf_ == to / per_leaf_ ? 1 : spines_;
  }
  void way(NodeId from, NodeId to, std::uint64_t spine, std::vector<LinkId>& path) const override {
    if (from == to) return;
    path.push_back(2 * from);
    if (const std::uint32_t here = from / per_leaf_, there = to / per_leaf_; here != there) {
      path.push_back(uplink(here, static_cast<std::uint32_t>(spine)));
      path.push_back(uplink(there, static_cast<std::uint32_t>(spine)) + 1);
    }
    path.push_back(2 * to + 1);
  }

  bool count_all(Census from, Census to, std::span<double> loads, std::vector<HostPair>& ends) const override {
    count_at_ends(from, to, 0, loads);
    const std::int64_t senders = everybody(from);
    const std::vector<std::int64_t> sending = by_block(from, per_leaf_);
    std::vector<std::int64_t> through(spines_, 0), arriving(std::size_t{leaves_} * spines_, 0);  // by leaf and spine
    const auto add = [&](LinkId link, std::int64_t routes) { loads[link] += static_cast<double>(routes); };
    for (NodeId host = 0; host < hosts_; ++host) {
      through[host % spines_] += to[host];
      arriving[host / per_leaf_ * spines_ + host % spines_] += to[host];
    }
    for (std::uint32_t leaf = 0; leaf < leaves_; ++leaf)
      for (std::uint32_t spine = 0; spine < spines_; ++spine) {
        const std::int64_t down = arriving[leaf * spines_ + spine];
        add(uplink(leaf, spine), sending[leaf] * (through[spine] - down));
        add(uplink(leaf, spine) + 1, down * (senders - sending[leaf]));
      }
    for (const auto& pair : {apart_within(from, to, per_leaf_, 1), apart_in_blocks(from, to, per_leaf_)})
      if (pair) ends.push_back(*pair);
    return true;
  }

  // The root is the common leaf, else spine `tree` mod spines.
  std::vector<LinkId> tree_above(std::uint32_t tree, std::span<const NodeId> ranks) const override {
    std::vector<LinkId> up;
    std::set<std::uint32_t> leaves;
    for (const NodeId host : ranks) {
      up.push_back(2 * host);
      leaves.insert(host / per_leaf_);
    }
    if (leaves.size() > 1)
      for (const std::uint32_t leaf : leaves) up.push_back(uplink(leaf, tree % spines_));
    return up;
  }

  std::string name(NodeId node) const override {
    if (node < hosts_) return fmt::format("h{}", node);
    const std::uint32_t index = node - static_cast<NodeId>(hosts_);
    return index < leaves_ ? fmt::format("leaf{}", index) : fmt::format("spine{}", index - leaves_);
  }

 private:
  LinkId uplink(std::uint32_t leaf, std::uint32_t spine) const { return up_ + 2 * (leaf * spines_ + spine); }

  std::uint32_t leaves_, per_leaf_, spines_;
  LinkId up_ = 0;  // the first link from a leaf to a spine
};

}  // namespace

std::unique_ptr<Topology> make_leaf_spine(const TopologySpec& spec) { return std::make_unique<LeafSpine>(spec); }

}  // namespace allreplay
