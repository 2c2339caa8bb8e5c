// The load of one round on a topology: bytes on links, latencies, reductions. If the round or the topology is regular,
// it is found without following each message's route.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/plans/collective/rounds.hpp"
#include "sim/replay/network/critical_path.hpp"
#include "sim/replay/network/level_alpha.hpp"

namespace allreplay {

/// One repetition of a round; loads and reductions in pieces.
struct RoundTraffic {
  std::vector<double> loads;  ///< by link; whole numbers if each message has a single route
  std::int64_t messages = 0;
  std::int64_t most_reduced = 0;  ///< by one rank
  double most_latency = 0;        ///< of any route, with the message's cost beyond α; seconds
  double least_latency = std::numeric_limits<double>::infinity();
  bool everybody = false;  ///< every slot sends and receives
  bool wall = false;       ///< each sender sends once to each other receiver (AllPairs::is_wall)
};

class TrafficCounter {
 public:
  /// Rank i is on host i. REQUIRES: `rounds` and `topology` outlive it.
  TrafficCounter(const Rounds& rounds, const Topology& topology, const LevelAlpha& levels = {});

  /// The result is valid until the next call.
  const RoundTraffic& count(const Round& round);

  /// The messages of `round`, which was counted last. `busy`: by link, the time of the round, seconds per byte of M.
  std::vector<Hop> hops(const Round& round, std::span<const double> busy);

 private:
  bool count_all_pairs(const AllPairs& pairs);
  void count_sends(const Round& round);
  void count_switches(const InSwitches& switches);
  void scale(const Uniform& round);
  void note_latency(double delay);

  const Rounds& rounds_;
  const Topology& topology_;
  LevelAlpha levels_;
  std::unique_ptr<RouteCount> routes_;
  std::vector<std::int64_t> received_;  // by rank: pieces to reduce, unless the round reduces none (Uniform)
  std::int64_t most_received_ = 0;
  std::vector<Send> sends_;
  std::vector<bool> sender_, receiver_;  // by slot: true if it is one
  std::vector<Rank> latest_sender_;      // by rank: the last one that sent to it
  RoundTraffic traffic_;
  std::optional<Uniform> uniform_;  // of the round counted last
};

}  // namespace allreplay
