// The topology of a cluster as its file describes it, before make_topology() builds a network.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/core/json.hpp"
#include "sim/base/core/named.hpp"
#include "sim/inputs/cluster/placement.hpp"
#include "sim/inputs/cluster/topology.hpp"

namespace allreplay {

enum class TopologyKind : std::uint8_t { Star, Ring, Torus, DoubleBinaryTree, FatTree, LeafSpine, BCube, Rail, Graph };

/// A link of a graph topology. Nodes are numbered: hosts first, then switches.
struct GraphLink {
  std::int64_t a = 0;
  std::int64_t b = 0;
  LinkSpec link;

  bool operator==(const GraphLink&) const = default;
};

/// One entry of "links": changes one link of the topology.
struct LinkChange {
  std::string a, b;  ///< node names
  std::optional<double> latency;
  std::optional<double> bandwidth;
  bool down = false;
  SourceLocation place;

  bool operator==(const LinkChange&) const = default;
};

struct TopologySpec {
  TopologyKind kind = TopologyKind::Star;
  LinkSpec link;                         ///< every link, unless changed below
  std::vector<std::int64_t> dimensions;  ///< torus
  std::int64_t ports = 0;                ///< fat-tree: ports of each switch
  double oversubscription = 1;           ///< bandwidth down / up of fat-tree edges, leaves and rail switches
  std::int64_t leaves = 0;               ///< leaf-spine: switches to which hosts are linked
  std::int64_t hosts_per_leaf = 0;
  std::int64_t spines = 0;  ///< leaf-spine: switches to which all leaves are linked
  std::int64_t n = 0;       ///< bcube: ports of a switch
  std::int64_t k = 0;       ///< bcube: ports of a server
  std::int64_t rails = 1;   ///< rail: network ports of a host
  bool pxn = true;          ///< rail: messages leave by the port of the GPU that receives them (as with NCCL's PXN)
  std::vector<std::string> hosts;  ///< graph
  std::vector<std::string> switches;
  std::vector<GraphLink> graph_links;
  std::int64_t gpus_per_host = 1;
  LinkSpec inner;  ///< from each GPU to its host, if there are several GPUs per host
  std::vector<LinkChange> changes;
  std::optional<std::int64_t> nics;  ///< of a host; if missing, it has one and is not a level of its own
  std::int64_t planes = 1;           ///< copies of the network: 1, or one for each NIC
  Placement placement;
  Routing routing;
  SourceLocation place;
  SourceLocation place_of_workers;  ///< where the number of workers was given, if not in the cluster file

  /// The number of network ports of a host: its NICs or its rails.
  std::int64_t ports_of_host() const { return nics.value_or(rails); }

  /// The number of entries of "links" that change something, unlike "down": false.
  std::int64_t changed_links() const;

  /// leaf-spine: the bandwidth of one link, where all of a leaf's together have its hosts' links / oversubscription.
  double uplink_bandwidth() const {
    return static_cast<double>(hosts_per_leaf) * link.bandwidth / (oversubscription * static_cast<double>(spines));
  }

  bool operator==(const TopologySpec&) const = default;
};

/// Reads the value of "topology" in a cluster file. Throws InputError.
TopologySpec read_topology(const Json& json);

/// Returns the number of hosts that share an edge switch; 0 for kinds without switches that only a few hosts share.
std::int64_t hosts_of_a_switch(const TopologySpec& spec);

/// True if consecutive ranks fill one host before the next; false if they are spread GPU by GPU over the hosts.
bool fills_hosts(const TopologySpec& spec);

/// True if hosts of the kind can have several NICs; and if each NIC then needs a plane of its own.
bool has_nics(TopologyKind kind);
bool needs_planes(TopologyKind kind);

/// True if hosts are nodes with a known number of ports: kind rail, or "nics" is given and ranks fill the hosts.
bool has_ports(const TopologySpec& spec);

/// True if transfers between different pairs of hosts can compete for a link that is slower than the pairs' own links
/// together: in oversubscribed networks, if hosts forward messages, if links differ, and in graphs, which may have any
/// of these. The closed forms of alpha-beta model no such links.
bool hosts_share_links(const TopologySpec& spec);

/// True if there can be several routes between two hosts.
bool has_ways(TopologyKind kind);

inline constexpr Word<Routing::Kind> routings[] = {
    {Routing::Kind::ByDestination, "d-mod-k"}, {Routing::Kind::Ecmp, "ecmp"}, {Routing::Kind::Adaptive, "adaptive"}};

/// Parses one of these words. Throws InputError at `place` if it is unknown, or if `kind` has only single routes.
Routing::Kind parse_routing(std::string_view text, TopologyKind kind, const SourceLocation& place);
std::string to_string(const Routing& routing);
/// Parses a word with optional settings, "ecmp:flows=4,seed=7"; settings that are left out are taken from `now`.
Routing parse_routing_in_words(const Routing& now, std::string_view text, TopologyKind kind,
                               const SourceLocation& place);
/// The inverse of parse_routing_in_words(): "ecmp:flows=4,seed=7", without flows and seed if they are 1.
std::string in_words(const Routing& routing);
/// For messages: "ecmp, 4 flows, seed 1".
std::string described(const Routing& routing);

/// True if Topology::tree_above() finds a tree of switches above any set of hosts.
bool has_switch_trees(TopologyKind kind);

std::string_view kind_name(TopologyKind kind);

/// A kind of topology, as it is listed to users.
struct KindSummary {
  TopologyKind value;
  std::string_view name;
  std::string_view summary;
  std::array<std::string_view, 4> keys;  ///< file keys in addition to those of all kinds; "" if unused
};
std::span<const KindSummary> topology_kinds();

/// The most links of a topology; each direction counts as one.
inline constexpr std::int64_t most_links = 1 << 24;

/// The most network ports of a host.
inline constexpr std::int64_t most_rails = 1024;

}  // namespace allreplay
