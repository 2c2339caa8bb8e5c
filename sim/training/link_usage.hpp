// Where the time goes on the network: how much each link of the topology carries, and whose.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/collective/rounds.hpp"
#include "sim/network/rounds_fabric.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

/// Over some time, every link's bytes: exact in `fluid` and `message`, which send the same messages.
struct LinkUsage {
  std::shared_ptr<const Topology> topology;
  double seconds = 0;
  /// What is sent, by RoundsFabric::Sent::rounds; empty where nothing is.
  struct Sent {
    Rounds rounds;
    double bytes = 0;           ///< of all its blocks
    std::vector<double> loads;  ///< by link: bytes per byte of a block
  };
  std::vector<Sent> sent;
  std::vector<RoundsFabric::Sent> of_transfer;  ///< which of these, and its bytes, by number in the iteration's plan
  std::vector<std::string> kinds;               ///< "edge - agg": links between nodes of these kinds
  std::vector<std::uint32_t> kind_of;           ///< by link

  double bytes(LinkId link) const;
  /// Of the link's bandwidth, 0 to 1; 0 of a link that is down.
  double utilisation(LinkId link) const;
  std::string name(LinkId link) const;  ///< "h3 -> edge1"
};

/// Of the links of one kind.
struct KindUse {
  std::int64_t links = 0, down = 0;  ///< both directions are one; down: of these
  double slowest = 0, fastest = 0;   ///< bytes per second, of those that are not down
  double mean = 0, busiest = 0;      ///< utilisation, each direction by itself
  double bytes = 0;                  ///< of the busiest
};
/// In the order of LinkUsage::kinds.
std::vector<KindUse> use_by_kind(const LinkUsage& usage);

/// Of links over which nothing is sent, in no time.
LinkUsage no_usage(std::shared_ptr<const Topology> topology);

/// Of one iteration of a run, with what layers send. Throws InputError at `place` in alpha-beta, which has no links.
LinkUsage link_usage(const Scenario& scenario, const Result& result, const SourceLocation& place);

/// Of the scenario's collective alone, which takes so long for so many bytes. Throws InputError likewise.
LinkUsage link_usage(const Scenario& scenario, Bytes bytes, double seconds, const SourceLocation& place);

/// Who sends how much over a link: the most first.
struct LinkUser {
  Rank from = 0, to = 0;
  double bytes = 0;
};
struct HotLink {
  LinkId link = 0;
  std::vector<LinkUser> users;
};

/// The most used, as many as wanted, those that are used at all; among equals in the order of their links.
std::vector<HotLink> hottest(const LinkUsage& usage, std::size_t most);

/// "h12" is a "h", "h3.gpu5" a "gpu", "s1.7" of a BCube a "s1", "edge2.p3" of plane 3 an "edge".
std::string node_kind(const std::string& name);

}  // namespace allreplay
