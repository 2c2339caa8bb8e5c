#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/inputs/cluster/shapes.hpp"

namespace allreplay {

namespace {

// The network's hosts become the nodes of machines. The order of the links: the network's, with as many copies as there
// are NICs if each NIC has its own; then one per GPU.
class GpuHosts final : public Topology {
 public:
  GpuHosts(std::unique_ptr<Topology> network, const TopologySpec& spec)
      : network_(std::move(network)), ports_(static_cast<std::uint32_t>(spec.nics.value_or(1))) {
    gpus_per_host_ = group_size_ = spec.gpus_per_host;
    nics_ = spec.nics.value_or(0);
    planes_ = spec.planes;
    hosts_ = network_->hosts() * gpus_per_host_;
    switches_ = network_->switches() * planes_;
    const std::span<const Link> links = network_->links();
    first_.reserve(links.size() / 2);
    for (LinkId id = 0; id < links.size(); id += 2) {
      first_.push_back(static_cast<LinkId>(links_.size()));
      const std::uint32_t copies = is_copied(id) ? ports_ : 1;
      for (std::uint32_t nic = 0; nic < copies; ++nic)
        for (Link link : links.subspan(id, 2)) {
          link.from = node_of(link.from, nic);
          link.to = node_of(link.to, nic);
          if (!is_copied(id)) link.bandwidth *= static_cast<double>(ports_);  // between switches, for all NICs
          links_.push_back(link);
        }
    }
    first_inner_ = static_cast<LinkId>(links_.size());
    for (NodeId gpu = 0; gpu < hosts_; ++gpu) {
      add_link(gpu, machine_node(machine_of(gpu)), spec.inner);
    }
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override {
    between(from, to, path, [&] { network_->route(machine_of(from), machine_of(to), path); });
  }
  std::uint64_t way_count(NodeId from, NodeId to) const override {
    return network_->way_count(machine_of(from), machine_of(to));
  }
  void way(NodeId from, NodeId to, std::uint64_t number, std::vector<LinkId>& path) const override {
    between(from, to, path, [&] { network_->way(machine_of(from), machine_of(to), number, path); });
  }

  // Counts, for each NIC, the messages to its GPUs.
  bool count_all(Census from, Census to, std::span<double> loads, std::vector<HostPair>& ends) const override {
    const auto gpus = static_cast<std::size_t>(gpus_per_host_);
    const std::vector<std::int64_t> sending = by_block(from, gpus);
    std::vector<double> of_network(network_->links().size());
    for (std::uint32_t nic = 0; nic < ports_; ++nic) {
      std::vector<std::int64_t> taking(to.begin(), to.end());
      for (NodeId gpu = 0; gpu < hosts_; ++gpu)
        if (nic_of(gpu) != nic) taking[gpu] = 0;
      std::vector<HostPair> machines;
      std::fill(of_network.begin(), of_network.end(), 0.0);
      if (!network_->count_all(sending, by_block(taking, gpus), of_network, machines)) return false;
      for (LinkId link = 0; link < of_network.size(); ++link) loads[copy_of(link, nic)] += of_network[link];
      for (const HostPair& pair : machines) {
        auto here = static_cast<NodeId>(pair.first * gpus), there = static_cast<NodeId>(pair.second * gpus);
        while (from[here] == 0) ++here;
        while (taking[there] == 0) ++there;
        ends.push_back({here, there});
      }
    }
    count_at_ends(from, to, first_inner_, loads);
    if (const auto pair = apart_within(from, to, gpus, 1)) ends.push_back(*pair);
    return true;
  }

  // The tree of NIC `tree` (modulo the number of NICs).
  std::vector<LinkId> tree_above(std::uint32_t tree, std::span<const NodeId> ranks) const override {
    std::set<NodeId> machines;
    for (const NodeId gpu : ranks) machines.insert(machine_of(gpu));
    std::vector<LinkId> up = network_->tree_above(tree, std::vector<NodeId>(machines.begin(), machines.end()));
    for (LinkId& link : up) link = copy_of(link, tree % ports_);
    for (const NodeId gpu : ranks) up.push_back(first_inner_ + 2 * gpu);
    return up;
  }

  NodeId port(LinkId link) const override {
    const NodeId from = links_[link].from;
    if (nics_ == 0 || link >= first_inner_ || from < hosts_ + switches_) return from;
    return static_cast<NodeId>(nodes() + (from - machine_node(0)) * nics_ + copy_number(link));
  }
  std::optional<std::uint32_t> plane_of(LinkId link) const override {
    if (planes_ == 1 || link >= first_inner_) return std::nullopt;
    return copy_number(link);
  }
  std::uint32_t plane_to(NodeId rank) const override { return planes_ > 1 ? nic_of(rank) : 0; }

  std::string name(NodeId node) const override {
    const auto machine = static_cast<NodeId>(hosts_ + switches_);
    if (node >= nodes())
      return fmt::format("{}.nic{}", network_->name(static_cast<NodeId>((node - nodes()) / nics_)),
                         (node - nodes()) % nics_);
    if (node >= machine) return network_->name(node - machine);
    if (node < hosts_) return fmt::format("{}.gpu{}", network_->name(machine_of(node)), node % gpus_per_host_);
    const auto index = static_cast<NodeId>(node - hosts_), each = static_cast<NodeId>(network_->switches());
    const std::string of_plane = planes_ > 1 ? fmt::format(".p{}", index / each) : "";
    return network_->name(static_cast<NodeId>(machines() + index % each)) + of_plane;
  }

 private:
  NodeId machine_of(NodeId gpu) const { return gpu / static_cast<NodeId>(gpus_per_host_); }
  std::uint32_t nic_of(NodeId gpu) const { return gpu % static_cast<std::uint32_t>(gpus_per_host_) % ports_; }
  NodeId node_of(NodeId of_network, std::uint32_t plane) const {
    if (of_network < machines()) return machine_node(of_network);
    const std::int64_t before = planes_ > 1 ? plane * network_->switches() : 0;
    return static_cast<NodeId>(hosts_ + before + of_network - machines());
  }
  // True if each NIC has its own copy of a link: links of hosts, and all links if there are planes.
  bool is_copied(LinkId of_network) const {
    const Link& link = network_->links()[of_network];
    return planes_ > 1 || std::min(link.from, link.to) < network_->hosts();
  }
  LinkId copy_of(LinkId of_network, std::uint32_t nic) const {
    return first_[of_network / 2] + (is_copied(of_network) ? 2 * nic : 0) + of_network % 2;
  }
  std::uint32_t copy_number(LinkId link) const {
    const LinkId first = *(std::upper_bound(first_.begin(), first_.end(), link) - 1);
    return (link - first) / 2;
  }

  template <class Walk>
  void between(NodeId from, NodeId to, std::vector<LinkId>& path, const Walk& walk) const {
    if (from == to) return;
    path.push_back(first_inner_ + 2 * from);
    const std::size_t before = path.size();
    walk();
    for (std::size_t i = before; i < path.size(); ++i) path[i] = copy_of(path[i], nic_of(to));
    path.push_back(first_inner_ + 2 * to + 1);
  }

  std::unique_ptr<Topology> network_;
  std::uint32_t ports_;        // NICs of a host
  std::vector<LinkId> first_;  // by full-duplex link of the network: its first copy
  LinkId first_inner_ = 0;
};

}  // namespace

std::unique_ptr<Topology> with_gpus(std::unique_ptr<Topology> network, const TopologySpec& spec) {
  return std::make_unique<GpuHosts>(std::move(network), spec);
}

}  // namespace allreplay
