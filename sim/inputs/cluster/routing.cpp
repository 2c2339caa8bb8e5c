#include <algorithm>

#include <fmt/format.h>

#include "sim/inputs/cluster/topology.hpp"

namespace allreplay {

namespace {

constexpr std::uint64_t most_ways = 1 << 16;  // more are not walked

// splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
std::uint64_t mix(std::uint64_t h) {
  h += 0x9E3779B97F4A7C15;
  h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9;
  h = (h ^ h >> 27) * 0x94D049BB133111EB;
  return h ^ h >> 31;
}

}  // namespace

std::uint32_t Topology::parts() const {
  return routing_.kind == Routing::Kind::Ecmp ? static_cast<std::uint32_t>(routing_.flows) : 1;
}

void Topology::route_part(NodeId from, NodeId to, std::uint32_t stream, std::uint32_t part,
                          std::vector<LinkId>& path) const {
  if (routing_.kind != Routing::Kind::Ecmp) return route(from, to, path);
  std::uint64_t hash = routing_.seed;
  for (const std::uint64_t value :
       {std::uint64_t{seat(from)}, std::uint64_t{seat(to)}, std::uint64_t{stream} * parts() + part})
    hash = mix(hash ^ value);
  way(from, to, hash % way_count(from, to), path);
}

// If there is one way, all parts take it.
std::uint64_t Topology::ways_walked(NodeId from, NodeId to) const {
  if (routing_.kind == Routing::Kind::ByDestination) return 1;
  const std::uint64_t ways = way_count(from, to);
  return routing_.kind == Routing::Kind::Adaptive || ways == 1 ? ways : parts();
}

double Topology::shares(NodeId from, NodeId to, std::uint32_t stream, double latency,
                        std::vector<LinkShare>& links) const {
  const bool adaptive = routing_.kind == Routing::Kind::Adaptive;
  const std::uint64_t ways = ways_walked(from, to);
  if (ways > most_ways)
    throw InputError(routing_.place / "routing",
                     fmt::format("there are {} routes from '{}' to '{}'", ways, name(seat(from)), name(seat(to))),
                     fmt::format("at most {}, or ecmp", most_ways));
  double longest = latency;
  const std::span<const Link> known = this->links();
  std::vector<LinkId> all;
  for (std::uint64_t number = 0; number < ways; ++number) {
    const std::size_t before = all.size();
    if (adaptive)
      way(from, to, number, all);
    else
      route_part(from, to, stream, static_cast<std::uint32_t>(number), all);
    double one = latency;
    for (std::size_t i = before; i < all.size(); ++i) one += known[all[i]].latency;
    longest = std::max(longest, one);
  }
  std::sort(all.begin(), all.end());
  for (auto link = all.begin(); link != all.end();) {
    const auto next = std::upper_bound(link, all.end(), *link);
    links.push_back({*link, static_cast<double>(next - link) / static_cast<double>(ways)});
    link = next;
  }
  return longest;
}

}  // namespace allreplay
