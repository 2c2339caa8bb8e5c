// A collective's rounds laid on a topology, as `fluid` needs them: what a round loads, not which messages it has.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/collective/rounds.hpp"
#include "sim/network/critical_path.hpp"
#include "sim/network/level_alpha.hpp"
#include "sim/network/level_busy.hpp"
#include "sim/network/max_min.hpp"

namespace allreplay {

/// Which part of each link's bandwidth a round uses at full speed, when alone: 1 on its busiest link.
using Shape = std::vector<LinkUse>;

/// Shapes by number, equal ones once: rounds that load the links alike need not be told apart. When all are known,
/// links that every shape uses alike are folded into one, and links on which every shape uses no more than on some
/// other are left out: neither changes a max-min fair share, since the other link is full no later, for at least the
/// same flows.
class Shapes {
 public:
  /// `whole`: somebody asks for them as they were numbered.
  explicit Shapes(bool whole = false) : keeps_whole_(whole) {}

  /// REQUIRES: not folded yet.
  std::uint32_t number(Shape shape);

  void fold();

  /// The shape on folded links.
  const Shape& operator[](std::uint32_t number) const { return shapes_[number]; }
  std::uint32_t folded_links() const { return links_; }
  std::size_t size() const { return shapes_.size(); }
  /// The shape on all links. REQUIRES: asked for.
  const Shape& whole(std::uint32_t number) const { return whole_[number]; }

 private:
  struct Less {
    bool operator()(const Shape& a, const Shape& b) const;
  };
  std::map<Shape, std::uint32_t, Less> numbers_;  // until folded
  std::vector<Shape> shapes_, whole_;             // then
  bool keeps_whole_;
  std::uint32_t links_ = 0;
};

/// A distinct round. Times are for a block of M bytes.
struct RoundLoad {
  std::int64_t repeat = 1;
  double latency = 0;  ///< of its longest route, and what that message costs beyond α; seconds
  double busiest = 0;  ///< its busiest link's seconds, per byte of M
  double reduced = 0;  ///< the most bytes that one rank reduces, per byte of M
  std::uint32_t shape = 0;
};

/// How fast a collective goes, alone: what is saved against lockstep is spread over its rounds.
struct Pace {
  double seconds = 0;    ///< all that is not reduction
  double start_ups = 1;  ///< the part of lockstep's that the start-up of each round takes,
  double bytes = 1;      ///< and its bytes
  double each = 0;       ///< seconds of a round's start-up besides
};

struct RoundLoads {
  /// Rank i on host i. The work is one route per message of a distinct round, whatever the repetitions.
  RoundLoads(const Rounds& rounds, const Topology& topology, Shapes& shapes, const LevelAlpha& alphas = {});

  std::vector<RoundLoad> rounds;
  std::int64_t length = 0;  ///< rounds, each repetition counted
  std::int64_t messages = 0;
  double least_latency = 0;  ///< of any message, likewise
  double busiest = 0;        ///< the busiest link's seconds over all rounds, per byte of M
  LevelBusy levels;          ///< the rounds' busiest links of each level, summed; likewise

  CriticalPath path;

  // In lockstep, in seconds: the sums over the rounds.
  double start_up(double alpha) const;
  double per_byte(double gamma) const;

  /// REQUIRES: more than no bytes.
  Pace pace(double alpha, double bytes) const;
};

/// The same of its rounds on the topology.
LevelBusy busiest_links(const Rounds& rounds, const Topology& topology);

}  // namespace allreplay
