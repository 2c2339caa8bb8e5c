#include "sim/output/view/topology_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <optional>

namespace allreplay {

namespace {

using LinksByNode = std::vector<std::vector<LinkId>>;

LinksByNode links_from_each(const Topology& topology) {
  LinksByNode from(static_cast<std::size_t>(topology.nodes()));
  for (LinkId link = 0; link < topology.links().size(); ++link) from[topology.links()[link].from].push_back(link);
  return from;
}

// Returns for each node the number of links to the nearest worker.
std::vector<std::size_t> tiers_of(const Topology& topology, const LinksByNode& links) {
  constexpr std::size_t unknown = -1;
  std::vector<std::size_t> tiers(links.size(), unknown);
  std::deque<NodeId> next;
  for (NodeId host = 0; host < topology.hosts(); ++host) tiers[host] = 0, next.push_back(host);
  for (; !next.empty(); next.pop_front())
    for (const LinkId link : links[next.front()])
      if (const NodeId node = topology.links()[link].to; tiers[node] == unknown)
        tiers[node] = tiers[next.front()] + 1, next.push_back(node);
  for (std::size_t& tier : tiers)
    if (tier == unknown) tier = 1;  // a switch without links
  return tiers;
}

// Makes a row of each tier; if each kind in a tier has several nodes, as in BCube, a row of each kind.
void set_rows(Sketch& sketch, const Topology& topology, const LinksByNode& links) {
  const std::vector<std::size_t> tiers = tiers_of(topology, links);
  std::map<std::size_t, std::map<std::string, std::int64_t>> kinds;  // nodes of each, by tier
  for (NodeId node = 0; node < tiers.size(); ++node) ++kinds[tiers[node]][node_kind(topology.name(node))];
  std::map<std::pair<std::size_t, std::string>, std::size_t> row_of;  // by tier and kind
  for (const auto& [tier, counts] : kinds) {
    const bool apart =
        counts.size() == 1 || std::ranges::all_of(counts, [](const auto& one) { return one.second > 1; });
    for (const auto& [kind, count] : counts) {
      if (apart || kind == counts.begin()->first) sketch.rows.push_back({apart ? kind : "node", 0});
      row_of[{tier, kind}] = sketch.rows.size() - 1;
      sketch.rows.back().nodes += count;
    }
  }
  for (NodeId node = 0; node < tiers.size(); ++node)
    sketch.row_of.push_back(row_of.at({tiers[node], node_kind(topology.name(node))}));
}

// Merges equal parts of the topology: maps each node to the one that is drawn for it.
class Folding {
 public:
  /// `uses`: utilisation by link; empty to ignore utilisation when comparing parts.
  Folding(const Topology& topology, std::vector<double> uses, const LinksByNode& links, const Sketch& sketch)
      : topology_(topology),
        uses_(std::move(uses)),
        links_(links),
        row_of_(sketch.row_of),
        rows_(sketch.rows.size()),
        into_(links.size()),
        total_(links.size(), 1),
        alike_(links.size(), 1),
        position_(links.size()) {
    std::iota(into_.begin(), into_.end(), NodeId{0});
  }

  // Merges as little as makes every row fit; false if that is impossible.
  bool fold(std::size_t most) {
    for (;;) {
      std::vector<std::size_t> width(rows_, 0), order(rows_);
      for (NodeId node = 0; node < into_.size(); ++node) width[row_of_[node]] += is_drawn(node);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return width[a] > width[b]; });
      if (width[order.front()] <= most) return true;
      if (std::none_of(order.begin(), order.end(), [&](std::size_t row) { return width[row] > most && fold_row(row); }))
        return false;
    }
  }

  void fold_to_rows() {
    std::vector<std::optional<NodeId>> first(rows_);
    for (NodeId node = 0; node < into_.size(); ++node) {
      std::optional<NodeId>& one = first[row_of_[node]];
      if (!one) one = node, alike_[node] = 0;
      into_[node] = *one;
      ++alike_[*one];
    }
    parts_.clear();
  }

  bool is_drawn(NodeId node) const { return into_[node] == node; }
  NodeId drawn_as(NodeId node) const {
    while (!is_drawn(node)) node = into_[node];
    return node;
  }
  std::int64_t alike(NodeId node) const { return alike_[node]; }

  struct Part {
    std::vector<NodeId> nodes;
    std::int64_t count = 1;
  };
  const std::vector<Part>& parts() const { return parts_; }

 private:
  // Merges the largest equal parts from the workers up through this row, or else single nodes of the row.
  bool fold_row(std::size_t row) {
    for (std::size_t last = rows_ - 1; last-- > row;)
      if (fold_between(0, last)) return true;
    return fold_between(row, row);
  }

  // Merges equal connected components of the rows [first, last]. True if there were any.
  bool fold_between(std::size_t first, std::size_t last) {
    std::map<std::vector<double>, Part> known;
    std::vector<bool> seen(into_.size(), false);
    bool any = false;
    for (NodeId start = 0; start < into_.size(); ++start) {
      if (!is_drawn(start) || row_of_[start] < first || row_of_[start] > last || seen[start]) continue;
      std::vector<NodeId> nodes{start};
      seen[start] = true;
      for (std::size_t i = 0; i < nodes.size(); ++i)
        for (const LinkId link : links_[nodes[i]])
          if (const NodeId next = topology_.links()[link].to;
              is_drawn(next) && row_of_[next] >= first && row_of_[next] <= last && !seen[next])
            seen[next] = true, nodes.push_back(next);
      std::sort(nodes.begin(), nodes.end());
      const auto [found, fresh] = known.emplace(looks_of(nodes, first, last), Part{nodes, 1});
      if (fresh) continue;
      any = true;
      ++found->second.count;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        const NodeId as = found->second.nodes[i];
        into_[nodes[i]] = as;
        total_[as] += total_[nodes[i]];
      }
    }
    std::erase_if(parts_, [&](const Part& part) { return !is_drawn(part.nodes.front()); });
    for (auto& [looks, part] : known) {
      if (part.count == 1) continue;
      if (part.nodes.size() == 1)
        alike_[part.nodes.front()] *= part.count;
      else
        parts_.push_back(std::move(part));
    }
    return any;
  }

  // Returns a key that equal parts share: for each node how many it stands for and its links, with their utilisation
  // and their ends (an index within the part, or a node outside).
  std::vector<double> looks_of(const std::vector<NodeId>& nodes, std::size_t first, std::size_t last) {
    for (std::size_t i = 0; i < nodes.size(); ++i) position_[nodes[i]] = static_cast<double>(i);
    std::vector<double> looks;
    for (const NodeId node : nodes) {
      std::vector<std::pair<double, LinkId>> leads;
      for (const LinkId link : links_[node])
        if (const NodeId to = topology_.links()[link].to; is_drawn(to))
          leads.emplace_back(row_of_[to] >= first && row_of_[to] <= last ? position_[to] : -1.0 - to, link);
      std::stable_sort(leads.begin(), leads.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      looks.insert(looks.end(), {static_cast<double>(row_of_[node]), static_cast<double>(total_[node]),
                                 static_cast<double>(leads.size())});
      for (const auto& [where, link] : leads) {
        const Link& one = topology_.links()[link];
        looks.insert(looks.end(), {where, one.latency, one.bandwidth, shown_use(link), shown_use(link ^ 1U)});
      }
    }
    return looks;
  }

  double shown_use(LinkId link) const { return uses_.empty() ? 0 : std::round(100 * uses_[link]); }

  const Topology& topology_;
  std::vector<double> uses_;
  const LinksByNode& links_;
  const std::vector<std::size_t>& row_of_;
  std::size_t rows_;
  std::vector<NodeId> into_;         // by node: itself, or the one drawn in its place
  std::vector<std::int64_t> total_;  // by node: the nodes it stands for,
  std::vector<std::int64_t> alike_;  // and those of them merged as single nodes
  std::vector<double> position_;     // by node: index in its part
  std::vector<Part> parts_;
};

Folding folded(const Topology& topology, const std::vector<double>& uses, const LinksByNode& links,
               const Sketch& sketch, const SketchLimits& limits) {
  const bool alone = sketch.rows.size() == 1;
  for (const std::size_t most : {alone ? limits.alone : limits.in_a_row, alone ? limits.alone : limits.crowded})
    for (const bool by_use : {true, false}) {
      Folding folding(topology, by_use ? uses : std::vector<double>(), links, sketch);
      if (folding.fold(most)) return folding;
    }
  Folding folding(topology, {}, links, sketch);
  folding.fold_to_rows();
  return folding;
}

}  // namespace

Sketch sketch_of(const LinkUsage& usage, const SketchLimits& limits) {
  const Topology& topology = *usage.topology;
  const LinksByNode links_of_node = links_from_each(topology);
  Sketch sketch;
  set_rows(sketch, topology, links_of_node);
  std::vector<double> uses;
  for (LinkId link = 0; link < topology.links().size(); ++link) uses.push_back(usage.utilisation(link));
  const Folding folding = folded(topology, uses, links_of_node, sketch, limits);
  std::vector<std::size_t> spot_of(links_of_node.size());
  for (NodeId node = 0; node < spot_of.size(); ++node)
    if (folding.is_drawn(node)) {
      spot_of[node] = sketch.spots.size();
      sketch.spots.push_back({node, folding.alike(node), sketch.row_of[node]});
    }
  for (const auto& [nodes, count] : folding.parts()) {
    sketch.parts.push_back({{}, count});
    for (const NodeId node : nodes)
      if (folding.is_drawn(node)) sketch.parts.back().spots.push_back(spot_of[node]);
  }
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;
  for (LinkId first = 0; first < topology.links().size(); first += 2) {
    LinkId link = first;
    std::size_t a = spot_of[folding.drawn_as(topology.links()[link].from)],
                b = spot_of[folding.drawn_as(topology.links()[link].to)];
    if (a > b) std::swap(a, b), link ^= 1U;
    const auto [found, fresh] = known.emplace(std::pair(a, b), sketch.cables.size());
    if (fresh) sketch.cables.push_back({.a = a, .b = b, .link = link});
    Cable& cable = sketch.cables[found->second];
    ++cable.count;
    cable.down += topology.links()[link].bandwidth == 0;
    cable.there = std::max(cable.there, uses[link]);
    cable.back = std::max(cable.back, uses[link ^ 1U]);
  }
  return sketch;
}

}  // namespace allreplay
