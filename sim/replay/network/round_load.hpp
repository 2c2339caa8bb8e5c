// A collective's rounds laid on a topology for the fidelity `fluid`: the load of each round, without its messages.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/plans/collective/rounds.hpp"
#include "sim/replay/network/critical_path.hpp"
#include "sim/replay/network/level_alpha.hpp"
#include "sim/replay/network/level_busy.hpp"
#include "sim/replay/network/max_min.hpp"

namespace allreplay {

/// The fraction of each link's bandwidth that a round uses at full speed: 1 on its busiest link.
using Shape = std::vector<LinkUse>;

/// Numbers the distinct shapes: rounds that load the links identically share one. Once all are known, fold() merges
/// links that every shape uses equally, and drops links of which no shape uses more than of some other link. Neither
/// changes max-min fair shares: the other link is full no later, and has at least the same flows.
class Shapes {
 public:
  /// `whole`: keeps the shapes on all links, for whole().
  explicit Shapes(bool whole = false) : keeps_whole_(whole) {}

  /// REQUIRES: not folded yet.
  std::uint32_t number(Shape shape);

  void fold();

  /// The shape on folded links.
  const Shape& operator[](std::uint32_t number) const { return shapes_[number]; }
  std::uint32_t folded_links() const { return links_; }
  std::size_t size() const { return shapes_.size(); }
  /// The shape on all links. REQUIRES: constructed with `whole`.
  const Shape& whole(std::uint32_t number) const { return whole_[number]; }

 private:
  struct Less {
    bool operator()(const Shape& a, const Shape& b) const;
  };
  std::map<Shape, std::uint32_t, Less> numbers_;  // until fold()
  std::vector<Shape> shapes_, whole_;             // after fold()
  bool keeps_whole_;
  std::uint32_t links_ = 0;
};

/// A distinct round. Times are for a block of M bytes.
struct RoundLoad {
  std::int64_t repeat = 1;
  double latency = 0;  ///< of its longest route, plus the cost of that message beyond α; seconds
  double busiest = 0;  ///< the busiest link's seconds per byte of M
  double reduced = 0;  ///< the most bytes that one rank reduces, per byte of M
  std::uint32_t shape = 0;
};

/// The speed of a collective that has the network to itself: its saving against lockstep is spread over all rounds.
struct Pace {
  double seconds = 0;    ///< the whole time without reductions
  double start_ups = 1;  ///< the factor on each round's start-up in lockstep
  double bytes = 1;      ///< the factor on the time of each round's bytes in lockstep
  double each = 0;       ///< the additional start-up of each round; seconds
};

struct RoundLoads {
  /// Rank i is on host i. Follows one route per message of each distinct round, for any number of repetitions.
  RoundLoads(const Rounds& rounds, const Topology& topology, Shapes& shapes, const LevelAlpha& alphas = {});

  std::vector<RoundLoad> rounds;
  std::int64_t length = 0;  ///< the number of rounds, counting repetitions
  std::int64_t messages = 0;
  double least_latency = 0;  ///< the least of any message, with its cost beyond α; seconds
  double busiest = 0;        ///< the busiest link's seconds over all rounds, per byte of M
  LevelBusy levels;          ///< the sum of each round's busiest link of the level

  CriticalPath path;

  // The sums over all rounds in lockstep: seconds, and seconds per byte.
  double start_up(double alpha) const;
  double per_byte(double gamma) const;

  /// REQUIRES: bytes > 0.
  Pace pace(double alpha, double bytes) const;
};

/// RoundLoads::levels for these rounds on this topology.
LevelBusy busiest_links(const Rounds& rounds, const Topology& topology);

}  // namespace allreplay
