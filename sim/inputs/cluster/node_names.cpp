#include "sim/inputs/cluster/node_names.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace allreplay {

NodeNames::NodeNames(const Topology& network) : network_(network) {
  const auto ends = static_cast<NodeId>(network.nodes() + network.machines() * network.nics());  // with the NICs
  for (NodeId node = 0; node < ends; ++node) node_called_.emplace(network.name(node), node);
  for (LinkId id = 0; id < network.links().size(); ++id)
    links_[std::minmax({network.port(id), network.port(id ^ 1U)})].push_back(id);
}

NodeId NodeNames::node(const std::string& name, const SourceLocation& place) const {
  const auto found = node_called_.find(name);
  if (found != node_called_.end()) return found->second;
  // Examples: the first and the last host (or GPU), switch, machine and NIC.
  std::set<std::string> examples;
  const std::int64_t switches = network_.hosts() + network_.switches();
  std::int64_t from = 0;
  for (const std::int64_t to : {network_.hosts(), switches, network_.nodes(), std::ssize(node_called_)}) {
    for (const std::int64_t node : {from, to - 1})
      if (from < to) examples.insert("'" + network_.name(static_cast<NodeId>(node)) + "'");
    from = to;
  }
  std::string known;
  for (const std::string& example : examples) known += (known.empty() ? "" : ", ") + example;
  throw InputError(place, fmt::format("there is no node '{}'", name), fmt::format("names are like {}", known));
}

const std::vector<LinkId>& NodeNames::between(const std::string& a, const SourceLocation& at_a, const std::string& b,
                                              const SourceLocation& at_b, const SourceLocation& place) const {
  const NodeId from = node(a, at_a), to = node(b, at_b);
  const auto found = links_.find(std::minmax({from, to}));
  if (found == links_.end()) no_link(from, a, b, place);
  return found->second;
}

void NodeNames::no_link(NodeId a, const std::string& a_name, const std::string& b_name,
                        const SourceLocation& place) const {
  const std::span<const Link> links = network_.links();
  std::string neighbours;
  int count = 0;
  for (LinkId id = 0; id < links.size(); ++id) {
    const NodeId here = network_.port(id), there = network_.port(id ^ 1U);
    const bool host = links[id].from == a;  // lists the names of its NICs
    if ((here == a || host) && ++count <= 4)
      neighbours += fmt::format("{}'{}'", count > 1 ? ", " : "", network_.name(here == a ? there : here));
  }
  throw InputError(place, fmt::format("there is no link between '{}' and '{}'", a_name, b_name),
                   fmt::format("'{}' is linked to {}{}", a_name, neighbours, count > 4 ? ", …" : ""));
}

}  // namespace allreplay
