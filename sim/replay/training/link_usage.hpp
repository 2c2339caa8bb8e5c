// The bytes that each link of the topology carries, and their senders.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/plans/collective/rounds.hpp"
#include "sim/replay/network/rounds_fabric.hpp"
#include "sim/replay/training/simulate.hpp"

namespace allreplay {

/// The bytes on every link over some time; exact in `fluid` and `message`, which send the same messages.
struct LinkUsage {
  std::shared_ptr<const Topology> topology;
  double seconds = 0;
  /// Everything that is sent in the same rounds; an entry may be empty.
  struct Sent {
    Rounds rounds;
    double bytes = 0;           ///< of all blocks
    std::vector<double> loads;  ///< by link: bytes per byte of a block
  };
  std::vector<Sent> sent;                       ///< by RoundsFabric::Sent::rounds
  std::vector<RoundsFabric::Sent> of_transfer;  ///< by transfer of the iteration's plan: index into `sent`, and bytes
  std::vector<std::string> kinds;               ///< "edge - agg": links between nodes of these kinds
  std::vector<std::uint32_t> kind_of;           ///< by link

  double bytes(LinkId link) const;
  /// The used fraction of the link's bandwidth, 0 to 1; 0 if the link is down.
  double utilisation(LinkId link) const;
  std::string name(LinkId link) const;  ///< "h3 -> edge1"
};

/// The usage of the links of one kind.
struct KindUse {
  std::int64_t links = 0, down = 0;  ///< both directions count as one link
  double slowest = 0, fastest = 0;   ///< bytes per second, of links that are up
  double mean = 0, busiest = 0;      ///< utilisation; directions count separately
  double bytes = 0;                  ///< of the busiest direction
};
/// Returns the usage by kind, in the order of LinkUsage::kinds.
std::vector<KindUse> use_by_kind(const LinkUsage& usage);

/// Returns a usage without any bytes or time.
LinkUsage no_usage(std::shared_ptr<const Topology> topology);

/// Returns the usage in an iteration, also inside layers. Throws InputError at `place` in alpha-beta, without links.
LinkUsage link_usage(const Scenario& scenario, const Result& result, const SourceLocation& place);

/// The same for a single run of the scenario's collective, which takes `seconds` for `bytes`.
LinkUsage link_usage(const Scenario& scenario, Bytes bytes, double seconds, const SourceLocation& place);

/// The bytes that one rank sends to another over a link.
struct LinkUser {
  Rank from = 0, to = 0;
  double bytes = 0;
};
struct HotLink {
  LinkId link = 0;
  std::vector<LinkUser> users;  ///< by bytes, descending
};

/// Returns up to `most` links by utilisation, descending, ties by link; without links that are not used.
std::vector<HotLink> hottest(const LinkUsage& usage, std::size_t most);

/// Returns a node's kind from its name: "h" of "h12", "gpu" of "h3.gpu5", "s1" of "s1.7" (BCube), "edge" of "edge2.p3".
std::string node_kind(const std::string& name);

}  // namespace allreplay
