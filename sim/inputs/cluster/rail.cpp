#include <set>

#include <fmt/format.h>

#include "sim/inputs/cluster/shapes.hpp"

namespace allreplay {

namespace {

// The order of the links: machine m's port p to its rail switch, rail switch p to spine j, then GPUs to machines.
class Rail final : public Topology {
 public:
  Rail(const TopologySpec& spec, std::int64_t machines)
      : rails_(static_cast<std::uint32_t>(spec.rails)),
        spines_(spec.rails > 1 ? static_cast<std::uint32_t>(machines) : 0),
        pxn_(spec.pxn) {
    gpus_per_host_ = group_size_ = spec.gpus_per_host;
    hosts_ = machines * gpus_per_host_;
    switches_ = rails_ + spines_;
    for (NodeId machine = 0; machine < machines; ++machine)
      for (std::uint32_t port = 0; port < rails_; ++port) add_link(machine_node(machine), rail(port), spec.link);
    first_spine_link_ = static_cast<LinkId>(links_.size());
    const LinkSpec up{spec.link.latency, spec.link.bandwidth / spec.oversubscription};
    for (std::uint32_t from = 0; from < rails_; ++from)
      for (std::uint32_t spine = 0; spine < spines_; ++spine) add_link(rail(from), rail(rails_ + spine), up);
    first_inner_ = static_cast<LinkId>(links_.size());
    if (gpus_per_host_ > 1)
      for (NodeId gpu = 0; gpu < hosts_; ++gpu) add_link(gpu, machine_node(machine_of(gpu)), spec.inner);
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override {
    if (from == to) return;
    if (gpus_per_host_ > 1) path.push_back(first_inner_ + 2 * from);
    if (const std::uint32_t out = machine_of(from), in = machine_of(to); out != in) {
      const std::uint32_t arrives = port_of(to), leaves = pxn_ ? arrives : port_of(from);
      path.push_back(2 * (out * rails_ + leaves));
      if (leaves != arrives) {
        path.push_back(first_spine_link_ + 2 * (leaves * spines_ + in));
        path.push_back(first_spine_link_ + 2 * (arrives * spines_ + in) + 1);
      }
      path.push_back(2 * (in * rails_ + arrives) + 1);
    }
    if (gpus_per_host_ > 1) path.push_back(first_inner_ + 2 * to + 1);
  }

  bool count_all(Census from, Census to, std::span<double> loads, std::vector<HostPair>& ends) const override {
    const auto gpus = static_cast<std::size_t>(gpus_per_host_), machines = from.size() / gpus;
    const std::int64_t senders = everybody(from), receivers = everybody(to);
    const std::vector<std::int64_t> sending = by_block(from, gpus), receiving = by_block(to, gpus);
    const auto add = [&](LinkId link, std::int64_t routes) { loads[link] += static_cast<double>(routes); };
    if (gpus > 1) {
      count_at_ends(from, to, first_inner_, loads);
      if (const auto pair = apart_within(from, to, gpus, 1)) ends.push_back(*pair);
    }
    for (std::uint32_t port = 0; port < rails_; ++port) {
      // Adds the GPUs whose port this is: they receive through it and, without PXN, send through it.
      std::vector<std::int64_t> out(from.begin(), from.end()), in(to.begin(), to.end()), others = in;
      for (NodeId gpu = 0; gpu < hosts_; ++gpu) (port_of(gpu) == port ? others : in)[gpu] = 0;
      for (NodeId gpu = 0; gpu < hosts_; ++gpu)
        if (port_of(gpu) != port) out[gpu] = 0;
      for (const auto& pair : {apart_in_blocks(out, in, gpus), apart_in_blocks(out, others, gpus)})
        if (pair) ends.push_back(*pair);
      const std::vector<std::int64_t> leaving = by_block(out, gpus), arriving = by_block(in, gpus);
      const std::int64_t all_leaving = everybody(out), all_arriving = everybody(in);
      for (NodeId machine = 0; machine < machines; ++machine) {
        const LinkId wire = 2 * (machine * rails_ + port);
        const std::int64_t elsewhere = senders - sending[machine], abroad = all_leaving - leaving[machine];
        add(wire, pxn_ ? sending[machine] * (all_arriving - arriving[machine])
                       : leaving[machine] * (receivers - receiving[machine]));
        add(wire + 1, arriving[machine] * elsewhere);
        if (pxn_ || rails_ == 1) continue;
        const LinkId spine = first_spine_link_ + 2 * (port * spines_ + machine);
        add(spine, abroad * (receiving[machine] - arriving[machine]));
        add(spine + 1, arriving[machine] * (elsewhere - abroad));
      }
    }
    return true;
  }

  std::vector<LinkId> tree_above(std::uint32_t tree, std::span<const NodeId> ranks) const override {
    std::vector<LinkId> up;
    std::set<NodeId> machines;
    for (const NodeId gpu : ranks) {
      if (gpus_per_host_ > 1) up.push_back(first_inner_ + 2 * gpu);
      machines.insert(machine_of(gpu));
    }
    for (const NodeId machine : machines) up.push_back(2 * (machine * rails_ + tree % rails_));
    return up;
  }

  std::string name(NodeId node) const override {
    const auto gpus = static_cast<NodeId>(hosts_), rails = gpus + rails_, spines = rails + spines_;
    if (node >= spines) return fmt::format("h{}", node - spines);
    if (node >= rails) return fmt::format("spine{}", node - rails);
    if (node >= gpus) return fmt::format("rail{}", node - gpus);
    if (gpus_per_host_ == 1) return fmt::format("h{}", node);
    return fmt::format("h{}.gpu{}", machine_of(node), node % gpus_per_host_);
  }

 private:
  std::uint32_t machine_of(NodeId gpu) const { return gpu / static_cast<std::uint32_t>(gpus_per_host_); }
  std::uint32_t port_of(NodeId gpu) const { return gpu % static_cast<std::uint32_t>(gpus_per_host_) % rails_; }
  NodeId rail(std::uint32_t index) const { return static_cast<NodeId>(hosts_ + index); }

  std::uint32_t rails_, spines_;
  bool pxn_;
  LinkId first_spine_link_ = 0, first_inner_ = 0;
};

}  // namespace

std::unique_ptr<Topology> make_rail(const TopologySpec& spec, std::int64_t hosts) {
  return std::make_unique<Rail>(spec, hosts);
}

}  // namespace allreplay
