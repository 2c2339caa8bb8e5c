// How much earlier a collective ends, alone, than rounds in lockstep would have it: by the longest path through its
// messages. Each waits for its data and, in its two streams, for earlier rounds, and for nobody else; a hop across a
// slow or a long route is then waited for by those behind it, and not by all in every round.
//
// All is reckoned as what is saved against lockstep, so that a path that saves nothing saves exactly nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/collective/rounds.hpp"

namespace allreplay {

/// Of a block of M bytes: start_up + per_byte·M, seconds.
struct Saving {
  double start_up = 0;
  double per_byte = 0;

  double of(double bytes) const { return start_up + per_byte * bytes; }
};

/// A message, as paths go.
struct Hop {
  std::uint32_t from = 0, into = 0;  ///< slots
  std::uint32_t channel = no_channel;
  double latency = 0;  ///< of its route (where it has several: the longest), and what it costs beyond α; seconds
  double busy = 0;     ///< the longest that the whole round keeps a link of its route busy; seconds per byte of M
};

/// A distinct round.
struct PathRound {
  std::int64_t repeat = 1;
  double latency = 0, busy = 0;  ///< the most of all hops: what lockstep takes
  bool wall = false;             ///< behind it all have their data when the last has
  bool even = false;             ///< every slot sends and receives, and all hops cost alike
  std::vector<Hop> hops{};       ///< may be missing as long as all rounds so far are walls or even
};

class CriticalPath {
 public:
  CriticalPath(std::uint32_t slots, std::uint32_t channels) : slots_(slots), channels_(channels) {}

  void add(PathRound round);
  /// Whether the next round's hops may matter, unless it is a wall or even: some before was neither.
  bool in_step() const { return in_step_; }

  /// What is saved of M bytes, with α in seconds: exactly nothing or more than that. It grows with M, and is concave.
  /// Lines that were found are kept; what it says of a size does not depend on what else was asked.
  Saving saving(double alpha, double bytes) const;
  /// Whether anything is, of any size.
  bool saves(double alpha) const;

 private:
  struct State;
  // The hops of a round in which every slot sends one message and receives one, around cycle after cycle.
  struct Cycles {
    std::vector<std::uint32_t> ends;  // of each, among the round's hops
    std::vector<double> busy;         // the different ones of its hops
  };

  // What was found at an α: of sizes, and of all sizes of a cell.
  struct Known {
    bool saves = false;
    std::map<double, Saving> sizes{};
    std::map<std::int64_t, std::optional<Saving>> cells{};
  };

  static Cycles cycles_of(std::vector<Hop>& hops, std::uint32_t slots);
  Known& known(double alpha) const;
  std::optional<Saving> line(double alpha, double low, std::int64_t cell) const;
  Saving found(double alpha, double bytes) const;
  Saving find(double alpha, double bytes) const;
  void pass_wall(State& state) const;
  void pass(State& state, const PathRound& round) const;
  void go_around(State& state, const PathRound& round, const Cycles& cycles) const;

  std::uint32_t slots_, channels_;
  bool in_step_ = true;
  double latency_ = 0, busy_ = 0;  // of all rounds
  std::int64_t length_ = 0;
  std::vector<PathRound> rounds_;
  std::vector<Cycles> cycles_;  // of each; none: it does not go around
  mutable std::map<double, Known> known_;
};

}  // namespace allreplay
