#include <fmt/format.h>

#include "sim/cluster/census.hpp"
#include "sim/cluster/shapes.hpp"

namespace allreplay {

namespace {

// The network's links keep their ids; one per GPU follows. Its hosts become the machines' nodes.
class GpuHosts final : public Topology {
 public:
  GpuHosts(std::unique_ptr<Topology> network, std::int64_t gpus, const LinkSpec& inner) : network_(std::move(network)) {
    hosts_ = network_->hosts() * gpus;
    switches_ = network_->switches();
    gpus_per_host_ = gpus;
    group_size_ = gpus;
    for (Link link : network_->links()) {
      link.from = node_of(link.from);
      link.to = node_of(link.to);
      links_.push_back(link);
    }
    first_inner_ = static_cast<LinkId>(links_.size());
    for (NodeId gpu = 0; gpu < hosts_; ++gpu) {
      links_.push_back({gpu, machine_node(gpu / gpus), inner.latency, inner.bandwidth});
      links_.push_back({machine_node(gpu / gpus), gpu, inner.latency, inner.bandwidth});
    }
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override {
    if (from == to) return;
    path.push_back(first_inner_ + 2 * from);
    network_->route(machine_of(from), machine_of(to), path);
    path.push_back(first_inner_ + 2 * to + 1);
  }

  bool count_all(Census from, Census to, std::span<double> loads, std::vector<HostPair>& ends) const override {
    const auto gpus = static_cast<std::size_t>(gpus_per_host_);
    std::vector<HostPair> machines;
    if (!network_->count_all(by_block(from, gpus), by_block(to, gpus), loads.first(first_inner_), machines))
      return false;
    const std::int64_t senders = everybody(from), receivers = everybody(to);
    for (NodeId gpu = 0; gpu < hosts_; ++gpu) {
      loads[first_inner_ + 2 * gpu] += static_cast<double>(from[gpu] * (receivers - to[gpu]));
      loads[first_inner_ + 2 * gpu + 1] += static_cast<double>(to[gpu] * (senders - from[gpu]));
    }
    for (const HostPair& pair : machines) {
      auto here = static_cast<NodeId>(pair.first * gpus), there = static_cast<NodeId>(pair.second * gpus);
      while (from[here] == 0) ++here;
      while (to[there] == 0) ++there;
      ends.push_back({here, there});
    }
    if (const auto pair = apart_within(from, to, gpus, 1)) ends.push_back(*pair);
    return true;
  }

  std::string name(NodeId node) const override {
    if (node < hosts_) return fmt::format("{}.gpu{}", network_->name(machine_of(node)), node % gpus_per_host_);
    if (node < hosts_ + switches_) return network_->name(static_cast<NodeId>(node - hosts_ + machines()));
    return network_->name(static_cast<NodeId>(node - hosts_ - switches_));
  }

 private:
  NodeId machine_of(NodeId gpu) const { return gpu / static_cast<NodeId>(gpus_per_host_); }
  NodeId node_of(NodeId of_network) const {
    return of_network < machines() ? machine_node(of_network) : static_cast<NodeId>(of_network - machines() + hosts_);
  }

  std::unique_ptr<Topology> network_;
  LinkId first_inner_ = 0;
};

}  // namespace

std::unique_ptr<Topology> with_gpus(std::unique_ptr<Topology> network, std::int64_t gpus, const LinkSpec& inner) {
  return std::make_unique<GpuHosts>(std::move(network), gpus, inner);
}

}  // namespace allreplay
