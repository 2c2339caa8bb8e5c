#include "sim/inputs/cluster/topology_spec.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/name.hpp"
#include "sim/base/core/named.hpp"

namespace allreplay {

namespace {

constexpr KindSummary kinds[] = {
    {TopologyKind::Star, "star", "all hosts on one switch", {}},
    {TopologyKind::Ring, "ring", "each host linked to the next", {}},
    {TopologyKind::Torus, "torus", "a ring in each of two or three dimensions", {"dimensions"}},
    {TopologyKind::DoubleBinaryTree, "double-binary-tree", "a link per edge of two mirrored trees of hosts", {}},
    {TopologyKind::FatTree, "fat-tree", "k-port switches in three layers, k^3/4 hosts", {"ports", "oversubscription"}},
    {TopologyKind::LeafSpine,
     "leaf-spine",
     "hosts on leaf switches, every leaf on every spine",
     {"leaves", "hosts_per_leaf", "spines", "oversubscription"}},
    {TopologyKind::BCube, "bcube", "n^k servers of k ports, n-port switches, servers relay", {"n", "k"}},
    {TopologyKind::Rail,
     "rail",
     "hosts of GPUs with several ports, a switch for each port number",
     {"rails", "oversubscription", "pxn"}},
    {TopologyKind::Graph, "graph", "nodes and links listed in the file, shortest paths", {"hosts", "switches"}},
};

constexpr std::int64_t largest_size = 1 << 24;  // of each number; make_topology() checks their product

double bandwidth(const Json& json) {
  const double rate = json.rate();
  if (rate <= 0)
    json.fail(fmt::format("{} is not a valid rate", json.dump()),
              "a rate above zero; a failed link is \"down\": true under links");
  return rate;
}

LinkSpec read_link(const Json& json) {
  json.allow_only({"latency", "bandwidth"});
  return {json.at("latency").duration(), bandwidth(json.at("bandwidth"))};
}

std::vector<std::int64_t> read_dimensions(const Json& json) {
  std::vector<std::int64_t> dimensions;
  for (const Json& item : json.items()) dimensions.push_back(item.integer(1, largest_size));
  if (dimensions.size() < 2 || dimensions.size() > 3)
    json.fail(fmt::format("has {} dimensions", dimensions.size()),
              "two or three, such as [8, 8]; one dimension is a ring");
  return dimensions;
}

std::int64_t read_ports(const Json& json) {
  const std::int64_t ports = json.integer(2, largest_size);
  if (ports % 2 != 0)
    json.fail(fmt::format("{} ports cannot be split evenly into up and down", ports),
              fmt::format("an even number, such as {}", ports + 1));
  return ports;
}

double read_oversubscription(const Json& json) {
  const double ratio = json.number();
  constexpr double most = 1e6;
  if (ratio > most)
    json.fail(fmt::format("{} is too large an oversubscription", json.dump()), "a ratio of at most 1000000");
  if (!(ratio >= 1))
    json.fail(fmt::format("{} is not a valid oversubscription", json.dump()), "a ratio of at least 1, such as 2");
  return ratio;
}

void read_gpus(const Json& json, TopologySpec& spec) {
  const auto gpus = json.find("gpus_per_host");
  const auto inner = json.find("inner");
  if (gpus) spec.gpus_per_host = gpus->integer(1, 1024);
  if (spec.gpus_per_host > 1)
    spec.inner = read_link(json.at("inner"));
  else if (inner)
    inner->fail("links the GPUs of a host, but hosts have one GPU each", "\"gpus_per_host\": 2 or more");
}

constexpr std::int64_t most_flows = 1024, most_seed = std::numeric_limits<std::int64_t>::max();

void read_nics(const Json& json, TopologySpec& spec) {
  const auto nics = json.find("nics"), planes = json.find("planes");
  if (!has_nics(spec.kind)) return;
  if (nics) {
    if (spec.gpus_per_host < 2)
      nics->fail("is the number of network ports of a host, but hosts have one GPU each",
                 "\"gpus_per_host\": 2 or more");
    spec.nics = nics->integer(1, most_rails);
    if (*spec.nics > spec.gpus_per_host)
      nics->fail(fmt::format("{} nics among the {} GPUs of a host", *spec.nics, spec.gpus_per_host),
                 fmt::format("at most {}", spec.gpus_per_host));
    if (needs_planes(spec.kind)) spec.planes = *spec.nics;
  }
  if (!planes) return;
  const std::int64_t count = planes->integer(1, most_rails), ports = spec.nics.value_or(1);
  if (count != ports && (count != 1 || needs_planes(spec.kind)))
    planes->fail(fmt::format("{} planes of hosts with {} nic{}", count, ports, ports == 1 ? "" : "s"),
                 needs_planes(spec.kind) || ports == 1 ? fmt::format("{}", ports) : fmt::format("1 or {}", ports));
  spec.planes = count;
}

void read_routing(const Json& json, TopologySpec& spec) {
  spec.routing.place = json.place();
  if (const auto routing = json.find("routing")) {
    spec.routing.kind = parse_routing(routing->text(), spec.kind, routing->place());
    spec.routing.given = true;
  }
  if (const auto seed = json.find("seed")) spec.routing.seed = static_cast<std::uint64_t>(seed->integer(0, most_seed));
  const auto flows = json.find("flows");
  if (!flows) return;
  if (spec.routing.kind != Routing::Kind::Ecmp)
    flows->fail("is the number of parts of a message, but only ecmp has flows", R"("routing": "ecmp")");
  spec.routing.flows = flows->integer(1, most_flows);
}

void read_leaf_spine(const Json& json, TopologySpec& spec) {
  spec.leaves = json.at("leaves").integer(1, largest_size);
  spec.hosts_per_leaf = json.at("hosts_per_leaf").integer(1, largest_size);
  spec.spines = json.at("spines").integer(1, largest_size);
}

void read_rail(const Json& json, TopologySpec& spec) {
  const Json rails = json.at("rails");
  spec.rails = rails.integer(1, most_rails);
  if (spec.rails > spec.gpus_per_host)
    rails.fail(fmt::format("{} network ports among the {} GPUs of a host", spec.rails, spec.gpus_per_host),
               fmt::format("at most {}", spec.gpus_per_host));
  if (const auto pxn = json.find("pxn")) spec.pxn = pxn->boolean();
}

/// Reads the two names of "between".
std::pair<Json, Json> read_between(const Json& json) {
  const Json between = json.at("between");
  const std::vector<Json> names = between.items();
  if (names.size() != 2) between.fail(fmt::format("names {} nodes", names.size()), "two, such as [\"h0\", \"h1\"]");
  if (names[0].text() == names[1].text())
    between.fail(fmt::format("links '{}' to itself", names[0].text()), "two different nodes");
  return {names[0], names[1]};
}

LinkChange read_change(const Json& json) {
  json.allow_only({"between", "latency", "bandwidth", "down"});
  const auto [a, b] = read_between(json);
  LinkChange change{a.text(), b.text(), {}, {}, false, json.place()};
  if (const auto latency = json.find("latency")) change.latency = latency->duration();
  if (const auto rate = json.find("bandwidth")) change.bandwidth = bandwidth(*rate);
  if (const auto down = json.find("down")) change.down = down->boolean();
  if (change.down && (change.latency || change.bandwidth))
    json.at("down").fail("a link that is down has no latency or bandwidth", "one or the other");
  if (!json.find("down") && !change.latency && !change.bandwidth)
    json.fail("changes nothing", "\"bandwidth\", \"latency\" or \"down\": true");
  return change;
}

using Names = std::map<std::string, std::int64_t>;

void read_names(const Json& json, std::vector<std::string>& list, Names& known) {
  for (const Json& item : json.items()) {
    const std::string name = read_name(item);
    if (name.empty()) item.fail("is empty", "such as \"h0\"");
    if (!known.emplace(name, static_cast<std::int64_t>(known.size())).second)
      item.fail(fmt::format("two nodes are called '{}'", name), "each name once");
    list.push_back(name);
  }
}

std::int64_t find_node(const Json& json, const Names& known) {
  const auto found = known.find(json.text());
  if (found != known.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, index] : known) names.push_back(name);
  json.fail(fmt::format("there is no node '{}'", json.text()), suggest(json.text(), names));
}

// The "links" of a graph are the network itself, so that their latencies and bandwidths are not changes.
void read_graph(const Json& json, TopologySpec& spec) {
  Names known;
  read_names(json.at("hosts"), spec.hosts, known);
  if (spec.hosts.empty()) json.at("hosts").fail("is empty", "at least one host");
  if (const auto switches = json.find("switches")) read_names(*switches, spec.switches, known);
  std::optional<LinkSpec> usual;
  if (const auto link = json.find("link")) usual = spec.link = read_link(*link);
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (const Json& item : json.at("links").items()) {
    item.allow_only({"between", "latency", "bandwidth", "down"});
    const auto [first, second] = read_between(item);
    const std::int64_t a = find_node(first, known), b = find_node(second, known);
    if (!seen.insert(std::minmax(a, b)).second)
      item.fail("the two nodes are linked twice", "one link, with the bandwidth of both");
    LinkSpec link = usual.value_or(LinkSpec{});
    if (item.find("latency") || !usual) link.latency = item.at("latency").duration();
    if (item.find("bandwidth") || !usual) link.bandwidth = bandwidth(item.at("bandwidth"));
    spec.graph_links.push_back({a, b, link});
    if (const auto down = item.find("down"); down && down->boolean())
      spec.changes.push_back({first.text(), second.text(), {}, {}, true, item.place()});
  }
}

void allow_only_keys_of(TopologyKind kind, const Json& json) {
  std::vector<std::string_view> keys{"kind"};
  for (const std::string_view key : std::find_if(std::begin(kinds), std::end(kinds), [&](const KindSummary& one) {
                                      return one.value == kind;
                                    })->keys)
    if (!key.empty()) keys.push_back(key);
  keys.insert(keys.end(), {"link", "gpus_per_host", "inner", "links", "placement", "routing", "flows", "seed"});
  if (has_nics(kind)) keys.insert(keys.end(), {"nics", "planes"});
  json.allow_only(keys);
}

}  // namespace

TopologySpec read_topology(const Json& json) {
  TopologySpec spec;
  const Json kind = json.at("kind");
  spec.kind = find_by_name(kinds, kind.text(), kind.place(), "unknown topology '{}'").value;
  spec.place = json.place();
  allow_only_keys_of(spec.kind, json);
  read_gpus(json, spec);
  read_nics(json, spec);
  read_routing(json, spec);
  if (const auto placement = json.find("placement")) spec.placement = read_placement(*placement);
  if (spec.kind == TopologyKind::Graph) {
    read_graph(json, spec);
    return spec;
  }
  spec.link = read_link(json.at("link"));
  if (const auto ratio = json.find("oversubscription")) spec.oversubscription = read_oversubscription(*ratio);
  if (spec.kind == TopologyKind::Torus) spec.dimensions = read_dimensions(json.at("dimensions"));
  if (spec.kind == TopologyKind::FatTree) spec.ports = read_ports(json.at("ports"));
  if (spec.kind == TopologyKind::LeafSpine) read_leaf_spine(json, spec);
  if (spec.kind == TopologyKind::Rail) read_rail(json, spec);
  if (spec.kind == TopologyKind::BCube) {
    spec.n = json.at("n").integer(2, largest_size);
    spec.k = json.at("k").integer(1, 24);
  }
  if (const auto links = json.find("links"))
    for (const Json& item : links->items()) spec.changes.push_back(read_change(item));
  return spec;
}

std::int64_t TopologySpec::changed_links() const {
  return std::count_if(changes.begin(), changes.end(),
                       [](const LinkChange& one) { return one.down || one.latency || one.bandwidth; });
}

bool has_nics(TopologyKind kind) {
  return kind == TopologyKind::Star || kind == TopologyKind::FatTree || kind == TopologyKind::LeafSpine ||
         needs_planes(kind);
}

bool needs_planes(TopologyKind kind) { return kind == TopologyKind::BCube || kind == TopologyKind::Graph; }

bool has_ports(const TopologySpec& spec) { return spec.kind == TopologyKind::Rail || (spec.nics && fills_hosts(spec)); }

bool hosts_share_links(const TopologySpec& spec) {
  if (spec.oversubscription > 1 || spec.changed_links() > 0) return true;
  switch (spec.kind) {
    case TopologyKind::Star:
    case TopologyKind::FatTree:
    case TopologyKind::Rail:
      return false;
    case TopologyKind::LeafSpine:
      return spec.uplink_bandwidth() < spec.link.bandwidth;
    case TopologyKind::Ring:
    case TopologyKind::Torus:
    case TopologyKind::DoubleBinaryTree:
    case TopologyKind::BCube:
    case TopologyKind::Graph:
      return true;
  }
  return true;
}

bool has_ways(TopologyKind kind) {
  return kind == TopologyKind::FatTree || kind == TopologyKind::LeafSpine || kind == TopologyKind::Graph;
}

Routing::Kind parse_routing(std::string_view text, TopologyKind kind, const SourceLocation& place) {
  const Routing::Kind routing = choose_by_name(routings, text, place, "unknown routing '{}'").value;
  if (routing != Routing::Kind::ByDestination && !has_ways(kind))
    throw InputError(
        place, fmt::format("a {} has a single route between nodes, so there is no routing to choose", kind_name(kind)),
        "d-mod-k, or a fat-tree, a leaf-spine or a graph");
  return routing;
}

std::string to_string(const Routing& routing) { return std::string(name_of(routings, routing.kind)); }

Routing parse_routing_in_words(const Routing& now, std::string_view text, TopologyKind kind,
                               const SourceLocation& place) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  Routing routing = now;
  routing.kind = parse_routing(text.substr(0, colon), kind, place);
  routing.given = true;
  if (routing.kind != Routing::Kind::Ecmp) routing.flows = 1;
  constexpr std::string_view right = "ecmp:flows=4,seed=7";
  if (colon < text.size() && routing.kind != Routing::Kind::Ecmp)
    throw InputError(place, fmt::format("'{}': only ecmp takes flows and a seed", text), std::string(right));
  for (std::size_t start = colon + 1; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string_view word = text.substr(start, end - start);
    if (word.starts_with("flows=")) {
      routing.flows = parse_integer(word.substr(6), 1, most_flows, place);
      routing.flows_named = true;
    } else if (word.starts_with("seed=")) {
      routing.seed = static_cast<std::uint64_t>(parse_integer(word.substr(5), 0, most_seed, place));
      routing.seed_named = true;
    } else {
      throw InputError(place, fmt::format("'{}' is neither flows=N nor seed=N", word), std::string(right));
    }
    start = end + 1;
  }
  return routing;
}

std::string in_words(const Routing& routing) {
  std::vector<std::string> words;
  const bool hashes = routing.kind == Routing::Kind::Ecmp;
  if (hashes && (routing.flows_named || routing.flows != 1)) words.push_back(fmt::format("flows={}", routing.flows));
  if (hashes && (routing.seed_named || routing.seed != 1)) words.push_back(fmt::format("seed={}", routing.seed));
  return fmt::format("{}{}{}", to_string(routing), words.empty() ? "" : ":", fmt::join(words, ","));
}

std::string described(const Routing& routing) {
  if (routing.kind != Routing::Kind::Ecmp) return to_string(routing);
  return fmt::format("ecmp, {} flow{}, seed {}", routing.flows, routing.flows == 1 ? "" : "s", routing.seed);
}

bool has_switch_trees(TopologyKind kind) {
  return kind == TopologyKind::Star || kind == TopologyKind::LeafSpine || kind == TopologyKind::FatTree ||
         kind == TopologyKind::Rail;
}

std::string_view kind_name(TopologyKind kind) { return name_of(kinds, kind); }

std::span<const KindSummary> topology_kinds() { return kinds; }

}  // namespace allreplay
