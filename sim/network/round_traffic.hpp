// What one round puts on a topology: bytes on links, latencies, reductions. Without walking each message's route, where
// the round or the topology is regular.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/collective/rounds.hpp"
#include "sim/network/critical_path.hpp"
#include "sim/network/level_alpha.hpp"

namespace allreplay {

/// A round, its first turn. In pieces.
struct RoundTraffic {
  std::vector<double> loads;  ///< by link; whole numbers where each message goes one way
  std::int64_t messages = 0;
  std::int64_t most_reduced = 0;  ///< by one rank
  double most_latency = 0;        ///< of any route, with what the message costs beyond α; seconds
  double least_latency = std::numeric_limits<double>::infinity();
  bool everybody = false;  ///< every slot sends and receives
  bool wall = false;       ///< each of some ranks sends once to each other of some (AllPairs::is_wall)
};

class TrafficCounter {
 public:
  /// Rank i on host i. REQUIRES: they outlive it.
  TrafficCounter(const Rounds& rounds, const Topology& topology, const LevelAlpha& levels = {});

  /// Good until the next is counted.
  const RoundTraffic& count(const Round& round);

  /// The messages of the round counted latest. `busy`: how long it keeps each link busy, per byte of M.
  std::vector<Hop> hops(const Round& round, std::span<const double> busy);

 private:
  bool count_all_pairs(const AllPairs& pairs);
  void count_sends(const Round& round);
  void count_switches(const InSwitches& switches);
  void scale(const Alike& round);
  void met(double delay);

  const Rounds& rounds_;
  const Topology& topology_;
  LevelAlpha levels_;
  std::unique_ptr<RouteCount> routes_;
  std::vector<std::int64_t> received_;  // by rank: pieces, to be reduced unless the round says that none is
  std::int64_t most_received_ = 0;
  std::vector<Send> sends_;
  std::vector<bool> sender_, receiver_;  // by slot: whether it is one
  std::vector<Rank> latest_sender_;      // by rank: who sent to it last
  RoundTraffic traffic_;
  std::optional<Alike> alike_;  // of the round counted latest
};

}  // namespace allreplay
