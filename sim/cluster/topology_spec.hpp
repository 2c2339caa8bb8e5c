// What a cluster file says about its topology, before anything is built.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/placement.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/core/error.hpp"
#include "sim/core/json.hpp"
#include "sim/core/named.hpp"

namespace allreplay {

enum class TopologyKind : std::uint8_t { Star, Ring, Torus, DoubleBinaryTree, FatTree, LeafSpine, BCube, Rail, Graph };

struct LinkSpec {
  double latency = 0;    ///< seconds
  double bandwidth = 0;  ///< bytes per second
};

/// A link of a graph, between two of its nodes.
struct GraphLink {
  std::int64_t a = 0;
  std::int64_t b = 0;
  LinkSpec link;
};

/// One entry of "links": a link that is not as its topology makes it.
struct LinkChange {
  std::string a, b;  ///< node names
  std::optional<double> latency;
  std::optional<double> bandwidth;
  bool down = false;
  SourceLocation place;
};

struct TopologySpec {
  TopologyKind kind = TopologyKind::Star;
  LinkSpec link;                         ///< every link, unless said otherwise
  std::vector<std::int64_t> dimensions;  ///< torus
  std::int64_t ports = 0;                ///< fat-tree: of each switch
  double oversubscription = 1;  ///< of fat-tree's edge switches, leaves, and rail's switches, towards the next layer
  std::int64_t leaves = 0;      ///< leaf-spine: switches that hosts hang on,
  std::int64_t hosts_per_leaf = 0;
  std::int64_t spines = 0;         ///< and those that every leaf hangs on
  std::int64_t n = 0;              ///< bcube: ports of a switch
  std::int64_t k = 0;              ///< bcube: ports of a server
  std::int64_t rails = 1;          ///< rail: ports of a host
  bool pxn = true;                 ///< rail: messages leave by the port of the GPU that receives them
  std::vector<std::string> hosts;  ///< graph
  std::vector<std::string> switches;
  std::vector<GraphLink> graph_links;  ///< nodes counted through hosts, then switches
  std::int64_t gpus_per_host = 1;
  LinkSpec inner;  ///< from each GPU to its host, with several of them
  std::vector<LinkChange> changes;
  std::optional<std::int64_t> nics;  ///< of a host; none: one, and its GPUs are not two levels
  std::int64_t planes = 1;           ///< copies of the network: that, or one for each NIC
  Placement placement;
  Routing routing;
  SourceLocation place;
  SourceLocation place_of_workers;  ///< who asks for so many workers, if not the cluster's file

  /// Ports of a host: NICs, or rails.
  std::int64_t ports_of_host() const { return nics.value_or(rails); }

  /// How many links are not as the kind makes them; an entry with "down": false alone says that one is.
  std::int64_t changed_links() const;

  /// leaf-spine: of a leaf's link to one spine. All of them together are its hosts' links / oversubscription.
  double uplink_bandwidth() const {
    return static_cast<double>(hosts_per_leaf) * link.bandwidth / (oversubscription * static_cast<double>(spines));
  }
};

/// The value of "topology" in a cluster file. Throws InputError.
TopologySpec read_topology(const Json& json);

/// How many hosts hang on one of the switches nearest to them; 0 for kinds where no few do.
std::int64_t hosts_of_a_switch(const TopologySpec& spec);

/// Whether consecutive ranks fill a host before the next: not where they are spread over hosts of several GPUs.
bool fills_hosts(const TopologySpec& spec);

/// Whether hosts can have several NICs, and whether they need a plane each then.
bool has_nics(TopologyKind kind);
bool needs_planes(TopologyKind kind);

/// Whether its hosts are nodes with ports: of kind rail, and where it says how many NICs they have.
bool has_ports(const TopologySpec& spec);

/// True if transfers between different pairs of hosts can meet on a link that is slower than theirs together: a network
/// that is oversubscribed or whose hosts forward, links that differ, and a graph, which may have any of these. The
/// closed forms of alpha-beta have one channel, and no such links.
bool hosts_share_links(const TopologySpec& spec);

/// Whether there can be several ways from host to host.
bool has_ways(TopologyKind kind);

inline constexpr Word<Routing::Kind> routings[] = {
    {Routing::Kind::ByDestination, "d-mod-k"}, {Routing::Kind::Ecmp, "ecmp"}, {Routing::Kind::Adaptive, "adaptive"}};

/// One of those words, on that kind. Throws InputError at `place`.
Routing::Kind parse_routing(std::string_view text, TopologyKind kind, const SourceLocation& place);
std::string to_string(const Routing& routing);
/// The same with what it may say behind it, "ecmp:flows=4,seed=7"; what it does not say stays as it is in `now`.
Routing parse_routing_in_words(const Routing& now, std::string_view text, TopologyKind kind,
                               const SourceLocation& place);
/// So that parse_routing_in_words() reads it: "ecmp:flows=4,seed=7", without flows and a seed that are 1.
std::string in_words(const Routing& routing);
/// The same with its flows and seed: "ecmp, 4 flows, seed 1".
std::string described(const Routing& routing);

/// Whether one tree of switches stands above any of its hosts (Topology::tree_above).
bool has_switch_trees(TopologyKind kind);

std::string_view kind_name(TopologyKind kind);

/// The kinds, with one line on each for people.
struct KindSummary {
  TopologyKind value;
  std::string_view name;
  std::string_view summary;
  std::array<std::string_view, 4> keys;  ///< in a file, beside those that every kind may have; "": none
};
std::span<const KindSummary> topology_kinds();

/// Both directions of every link count.
inline constexpr std::int64_t most_links = 1 << 24;

/// Of a host of kind rail.
inline constexpr std::int64_t most_rails = 1024;

}  // namespace allreplay
