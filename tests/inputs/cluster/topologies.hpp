// Topologies from JSON, and a check of routes.
#pragma once

#include <string>
#include <string_view>

#include "tests/catch.hpp"

#include "sim/base/core/json.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/inputs/cluster/make_topology.hpp"

using namespace allreplay;

inline TopologySpec spec_of(std::string_view json) { return read_topology(Json::parse(json, "cluster.json")); }

/// A topology with links of 1 us and 1 GB/s. `rest` follows the kind: R"("n": 4, "k": 2)".
inline std::string json_of(std::string_view kind, std::string_view rest = "") {
  std::string json = R"({"kind": ")" + std::string(kind) + R"(", "link": {"latency": "1 us", "bandwidth": "1 GB/s"})";
  if (!rest.empty()) json += ", " + std::string(rest);
  return json + "}";
}

inline std::unique_ptr<Topology> build(std::string_view kind, std::int64_t workers, std::string_view rest = "") {
  return make_topology(spec_of(json_of(kind, rest)), workers);
}

inline std::vector<LinkId> route(const Topology& topology, std::int64_t from, std::int64_t to) {
  std::vector<LinkId> path;
  topology.route(static_cast<NodeId>(from), static_cast<NodeId>(to), path);
  return path;
}

/// Returns the nodes of a route: "h0 edge0 h1". Fails unless each link is up and begins at the end of the previous one.
inline std::string way(const Topology& topology, std::int64_t from, std::int64_t to) {
  auto at = static_cast<NodeId>(from);
  std::string names = topology.name(at);
  for (const LinkId id : route(topology, from, to)) {
    REQUIRE(id < topology.links().size());
    const Link& link = topology.links()[id];
    REQUIRE(link.from == at);
    REQUIRE(link.bandwidth > 0);
    at = link.to;
    names += " " + topology.name(at);
  }
  REQUIRE(at == static_cast<NodeId>(to));
  return names;
}
