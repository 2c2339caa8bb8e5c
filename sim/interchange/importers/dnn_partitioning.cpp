// The JSON of msr-fiddle/dnn-partitioning: a graph of forward and backward nodes. Latencies are milliseconds; a node's
// `size` is what it keeps in memory: its parameters and its output.

#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "sim/core/json.hpp"
#include "sim/interchange/importers/readers.hpp"
#include "sim/interchange/importers/topological_order.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t most = std::int64_t{1} << 53;

struct Node {
  Json json;
  std::string name;
  Time time{0};
  double size = 0;        // bytes
  double output = 0;      // bytes: what the next nodes read
  std::size_t group = 0;  // its backward node has the same
};

struct Edge {
  std::size_t from, to;
  double size;
};

double bytes(const Json& json) {
  const double value = json.number();
  if (!(value >= 0 && value <= static_cast<double>(most)))
    json.fail(fmt::format("{} is not a number of bytes", json.dump()), "0 or more");
  return value;
}

struct Graph {
  std::vector<Node> nodes;                                     // forward and backward ones
  std::vector<std::size_t> forward;                            // indices, as they stand in the file
  std::map<std::size_t, std::size_t> backward_of_group, twin;  // twin: of a forward node, its backward node
  std::vector<Edge> edges;
};

Graph read_graph(const Json& json) {
  Graph graph;
  std::map<std::int64_t, std::size_t> index;
  std::set<std::size_t> groups;
  for (const Json& item : json.at("nodes").items()) {
    const std::size_t here = graph.nodes.size();
    if (!index.emplace(item.at("id").integer(0, most), here).second)
      item.at("id").fail(fmt::format("a second node {}", item.at("id").dump()), "each id once");
    const Json latency = item.at("fpgaLatency");
    graph.nodes.push_back({item, item.at("name").text(), measured_us(latency.number() * 1e3, latency.place()),
                           bytes(item.at("size")), 0,
                           static_cast<std::size_t>(item.at("colorClass").integer(0, most))});
    const std::size_t group = graph.nodes.back().group;
    const bool backward = item.at("isBackwardNode").integer(0, 1) == 1;
    const bool fresh = backward ? graph.backward_of_group.emplace(group, here).second : groups.insert(group).second;
    if (!fresh)
      item.at("colorClass")
          .fail(fmt::format("a second {} node of class {}", backward ? "backward" : "forward", group),
                "one forward and one backward node in each");
    if (!backward) graph.forward.push_back(here);
  }
  for (const Json& item : json.at("edges").items()) {
    const auto end = [&](std::string_view key) {
      const auto found = index.find(item.at(key).integer(0, most));
      if (found == index.end())
        item.at(key).fail(fmt::format("there is no node {}", item.at(key).dump()), "a node's id");
      return found->second;
    };
    graph.edges.push_back({end("sourceId"), end("destId"), bytes(item.at("size"))});
  }
  if (graph.backward_of_group.empty())
    json.at("nodes").fail("no node is a backward node: this is a graph of inference", "a graph of training");
  for (const std::size_t node : graph.forward) {
    const auto twin = graph.backward_of_group.find(graph.nodes[node].group);
    if (twin == graph.backward_of_group.end())
      graph.nodes[node].json.fail(fmt::format("'{}' has no backward node", graph.nodes[node].name),
                                  "one with its colorClass and isBackwardNode 1");
    graph.twin[node] = twin->second;
  }
  return graph;
}

// The order of the forward nodes. The backward nodes' edges run the same way, from input to output; those into a
// backward node carry the gradient of its forward node's output, which has the output's size.
std::vector<std::size_t> forward_order(Graph& graph, const Json& json) {
  std::map<std::size_t, std::size_t> place, forward_of;
  for (std::size_t i = 0; i < graph.forward.size(); ++i) place[graph.forward[i]] = i;
  for (const auto& [forward, backward] : graph.twin) forward_of[backward] = forward;
  std::vector<std::vector<std::size_t>> waits_for(graph.forward.size());
  for (const Edge& edge : graph.edges) {
    if (place.contains(edge.from) && place.contains(edge.to)) {
      waits_for[place[edge.to]].push_back(place[edge.from]);
      Node& node = graph.nodes[edge.from];
      node.output = std::max(node.output, edge.size);
    } else if (forward_of.contains(edge.from) && forward_of.contains(edge.to)) {
      Node& node = graph.nodes[forward_of[edge.to]];
      node.output = std::max(node.output, edge.size);
    }
  }
  std::vector<std::size_t> order = topological_order(waits_for);
  if (order.size() < waits_for.size())
    json.at("edges").fail(fmt::format("the graph is cyclic at '{}'",
                                      graph.nodes[graph.forward[first_missing(order, waits_for.size())]].name),
                          "no node may wait for itself");
  for (std::size_t& node : order) node = graph.forward[node];
  return order;
}

}  // namespace

bool is_dnn_partitioning(std::string_view, std::string_view head) {
  return head.find("\"isBackwardNode\"") != std::string_view::npos &&
         head.find("\"fpgaLatency\"") != std::string_view::npos;
}

Imported read_dnn_partitioning(ByteSource& source, const ImportOptions& options) {
  const Json json = Json::parse(source.rest(), source.file());
  Graph graph = read_graph(json);
  Imported imported;
  Profile& profile = imported.profile;
  const Bytes element = element_bytes(options.precision).value_or(4);
  int smaller = 0;
  double outputs = 0;
  for (const std::size_t index : forward_order(graph, json)) {
    const Node& node = graph.nodes[index];
    outputs += node.output;
    const double parameters = (node.size - node.output) / static_cast<double>(element);
    smaller += parameters < 0;
    if (parameters > 0)
      profile.tensors.push_back({node.name, parameter_count(parameters, node.json.at("size").place()), 0,
                                 static_cast<LayerId>(profile.layers.size())});
    profile.layers.push_back({node.name, node.time, graph.nodes[graph.twin[index]].time});
  }
  imported.notes.push_back("times are the accelerator's (fpgaLatency, ms); cpuLatency was left out");
  imported.notes.push_back(fmt::format(
      "a layer's parameters are its size minus that of its output, at {} bytes each: {:.0f} bytes of outputs were "
      "subtracted",
      element, outputs));
  if (smaller > 0)
    imported.notes.push_back(fmt::format("{} nodes are smaller than their output: no parameters", smaller));
  if (graph.backward_of_group.size() > graph.twin.size())
    imported.notes.push_back(fmt::format("left out: {} backward nodes without a forward node",
                                         graph.backward_of_group.size() - graph.twin.size()));
  return imported;
}

}  // namespace allreplay
