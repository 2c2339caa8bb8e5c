#include "sim/inputs/cluster/placement.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/inputs/cluster/shapes.hpp"

namespace allreplay {

namespace {

constexpr Word<Placement::Kind> placement_words[] = {{Placement::Kind::Packed, "packed"},
                                                     {Placement::Kind::Spread, "spread"}};

constexpr std::string_view placement_right = R"("packed", "spread", or a list of hosts, such as ["h0", "h4"])";

// A network whose ranks are on other hosts.
class Placed final : public Topology {
 public:
  Placed(std::shared_ptr<const Topology> network, std::vector<NodeId> seats, std::int64_t workers)
      : network_(std::move(network)), seats_(std::move(seats)), rank_on_(seats_.size()) {
    hosts_ = network_->hosts();
    switches_ = network_->switches();
    gpus_per_host_ = network_->gpus_per_host();
    nics_ = network_->nics();
    planes_ = network_->planes();
    for (NodeId rank = 0; rank < seats_.size(); ++rank) rank_on_[seats_[rank]] = rank;
    if (keeps_together(network_->group_size(), workers)) group_size_ = network_->group_size();
  }

  std::span<const Link> links() const override { return network_->links(); }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override {
    network_->route(seats_[from], seats_[to], path);
  }

  std::uint64_t way_count(NodeId from, NodeId to) const override {
    return network_->way_count(seats_[from], seats_[to]);
  }
  void way(NodeId from, NodeId to, std::uint64_t number, std::vector<LinkId>& path) const override {
    network_->way(seats_[from], seats_[to], number, path);
  }

  bool count_all(Census from, Census to, std::span<double> loads, std::vector<HostPair>& ends) const override {
    std::vector<HostPair> pairs;
    if (!network_->count_all(by_seat(from), by_seat(to), loads, pairs)) return false;
    for (const auto& [here, there] : pairs) ends.push_back({rank_on_[here], rank_on_[there]});
    return true;
  }

  std::vector<LinkId> tree_above(std::uint32_t tree, std::span<const NodeId> ranks) const override {
    std::vector<NodeId> seats;
    for (const NodeId rank : ranks) seats.push_back(seats_[rank]);
    return network_->tree_above(tree, seats);
  }

  NodeId port(LinkId link) const override { return network_->port(link); }
  std::optional<std::uint32_t> plane_of(LinkId link) const override { return network_->plane_of(link); }
  std::uint32_t plane_to(NodeId rank) const override { return network_->plane_to(seats_[rank]); }

  NodeId seat(NodeId rank) const override { return seats_[rank]; }
  std::string name(NodeId node) const override { return network_->name(node); }

 private:
  std::vector<std::int64_t> by_seat(Census ranks) const {
    std::vector<std::int64_t> seated(ranks.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) seated[seats_[rank]] = ranks[rank];
    return seated;
  }

  // True if each group of `size` consecutive ranks is still in one group of `size` hosts.
  bool keeps_together(std::int64_t size, std::int64_t workers) const {
    for (NodeId rank = 0; rank < workers; ++rank)
      if (seats_[rank] / size != seats_[rank - rank % size] / size) return false;
    return true;
  }

  std::shared_ptr<const Topology> network_;
  std::vector<NodeId> seats_;    // by rank
  std::vector<NodeId> rank_on_;  // by host
};

// Deals `all` items in turn to piles of `size`. Returns the position of item i, counted pile by pile.
std::int64_t dealt_position(std::int64_t i, std::int64_t all, std::int64_t size) {
  const std::int64_t piles = all / size;
  return i % piles * size + i / piles;
}

// Returns the machines in the order of the list, then all others.
std::vector<std::int64_t> listed_machines(const Topology& network, const Placement& placement, std::int64_t workers) {
  std::map<std::string, std::int64_t> machine_called;
  std::vector<std::string> names;
  for (std::int64_t machine = 0; machine < network.machines(); ++machine) {
    names.push_back(network.name(network.machine_node(machine)));
    machine_called.emplace(names.back(), machine);
  }
  std::vector<std::int64_t> order;
  std::vector<bool> taken(names.size(), false);
  for (const auto& [name, place] : placement.hosts) {
    const auto found = machine_called.find(name);
    if (found == machine_called.end()) {
      const std::string few = names.size() > 16 ? fmt::format("'{}' to '{}'", names.front(), names.back()) : "";
      throw InputError(place, fmt::format("there is no host '{}'", name), few.empty() ? suggest(name, names) : few);
    }
    const auto machine = static_cast<std::size_t>(found->second);
    if (taken[machine]) throw InputError(place, fmt::format("the host '{}' is listed twice", name), "each host once");
    taken[machine] = true;
    order.push_back(found->second);
  }
  const std::int64_t gpus = network.gpus_per_host(), needed = (workers + gpus - 1) / gpus;
  if (static_cast<std::int64_t>(order.size()) < needed)
    throw InputError(
        placement.place,
        fmt::format("{} listed host{} {} room for {} of {} workers", order.size(), order.size() == 1 ? "" : "s",
                    order.size() == 1 ? "has" : "have", static_cast<std::int64_t>(order.size()) * gpus, workers),
        fmt::format("at least {} hosts", needed));
  for (std::size_t machine = 0; machine < taken.size(); ++machine)
    if (!taken[machine]) order.push_back(static_cast<std::int64_t>(machine));
  return order;
}

}  // namespace

Placement read_placement(const Json& json) {
  if (!json.is_array()) {
    if (!json.is_string()) json.fail("is not a placement", placement_right);
    const auto* word = row_named(placement_words, json.text());
    if (!word) json.fail(fmt::format("unknown placement '{}'", json.text()), placement_right);
    return {word->value, {}, json.place()};
  }
  Placement placement{Placement::Kind::Listed, {}, json.place()};
  for (const Json& item : json.items()) placement.hosts.push_back({item.text(), item.place()});
  if (placement.hosts.empty()) json.fail("is empty", placement_right);
  return placement;
}

Placement parse_placement(std::string_view text, const SourceLocation& place) {
  if (const auto* word = row_named(placement_words, text)) return {word->value, {}, place};
  if (text.find(',') == std::string_view::npos)
    throw InputError(place, fmt::format("unknown placement '{}'", text), "packed, spread, or hosts, such as h0,h4");
  Placement placement{Placement::Kind::Listed, {}, place};
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    placement.hosts.push_back({std::string(trim(text.substr(start, end - start))), place});
    start = end + 1;
  }
  return placement;
}

std::string to_string(const Placement& placement) {
  if (placement.kind == Placement::Kind::Listed) return fmt::format("{} hosts as listed", placement.hosts.size());
  return std::string(name_of(placement_words, placement.kind));
}

std::unique_ptr<Topology> with_placement(std::unique_ptr<Topology> network, const TopologySpec& spec,
                                         std::int64_t workers) {
  const Placement& placement = spec.placement;
  const std::int64_t gpus = network->gpus_per_host(), machines = network->machines();
  const std::int64_t per_switch = hosts_of_a_switch(spec);
  if (spec.kind == TopologyKind::Rail)
    throw InputError(placement.place, "a topology of rails fills its hosts in order: each host has a port of each rail",
                     "packed, or another kind of topology");
  std::vector<NodeId> seats(static_cast<std::size_t>(network->hosts()));
  if (placement.kind == Placement::Kind::Spread && per_switch == 0) {
    if (gpus == 1)
      throw InputError(
          placement.place,
          fmt::format("ranks cannot be spread: a {} has hosts of one GPU, and no switches shared by only a few",
                      kind_name(spec.kind)),
          "packed, or a list of hosts");
    for (NodeId rank = 0; rank < seats.size(); ++rank)
      seats[rank] = static_cast<NodeId>(dealt_position(rank, network->hosts(), gpus));
  } else {
    std::vector<std::int64_t> order(static_cast<std::size_t>(machines));
    if (placement.kind == Placement::Kind::Spread)
      for (std::int64_t i = 0; i < machines; ++i)
        order[static_cast<std::size_t>(i)] = dealt_position(i, machines, per_switch);
    else
      order = listed_machines(*network, placement, workers);
    for (NodeId rank = 0; rank < seats.size(); ++rank)
      seats[rank] = static_cast<NodeId>(order[rank / static_cast<NodeId>(gpus)] * gpus + rank % gpus);
  }
  return std::make_unique<Placed>(std::move(network), std::move(seats), workers);
}

std::shared_ptr<const Topology> seated(std::shared_ptr<const Topology> network, std::span<const NodeId> seats) {
  std::vector<NodeId> all(seats.begin(), seats.end());
  std::vector<bool> taken(static_cast<std::size_t>(network->hosts()), false);
  for (const NodeId seat : seats) taken[seat] = true;
  for (NodeId seat = 0; seat < taken.size(); ++seat)
    if (!taken[seat]) all.push_back(seat);
  const Routing routing = network->routing();
  auto placed = std::make_shared<Placed>(std::move(network), std::move(all), std::ssize(seats));
  placed->set_routing(routing);
  return placed;
}

std::int64_t hosts_of_a_switch(const TopologySpec& spec) {
  switch (spec.kind) {
    case TopologyKind::FatTree:
      return spec.ports / 2;
    case TopologyKind::LeafSpine:
      return spec.hosts_per_leaf;
    case TopologyKind::BCube:
      return spec.n;
    default:
      return 0;
  }
}

bool fills_hosts(const TopologySpec& spec) {
  return spec.placement.kind != Placement::Kind::Spread || hosts_of_a_switch(spec) > 0;
}

}  // namespace allreplay
