// Computes how much earlier a collective that has the network to itself ends than with its rounds in lockstep. Its time
// is the longest path through its messages: a message waits only for its data and for earlier rounds in the streams of
// its sender and its receiver. A slow or long hop then delays the messages that depend on it, not all ranks in every
// round.
//
// All values are savings against lockstep, so that a path that saves nothing saves exactly zero.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/plans/collective/rounds.hpp"

namespace allreplay {

/// The saving for a block of M bytes: start_up + per_byte·M, seconds.
struct Saving {
  double start_up = 0;
  double per_byte = 0;

  double of(double bytes) const { return start_up + per_byte * bytes; }
};

/// A message as a step of a path.
struct Hop {
  std::uint32_t from = 0, into = 0;  ///< slots
  std::uint32_t channel = no_channel;
  double latency = 0;  ///< of its (longest) route, plus the cost of the message beyond α; seconds
  double busy = 0;     ///< the longest time that the whole round keeps a link of its route busy; seconds per byte of M
};

/// A distinct round.
struct PathRound {
  std::int64_t repeat = 1;
  double latency = 0, busy = 0;  ///< the largest of all hops, which lockstep takes
  bool wall = false;             ///< after it, all slots have their data at the same time
  bool even = false;             ///< every slot sends and receives, and all hops cost the same
  std::vector<Hop> hops{};       ///< may be omitted while all rounds so far are walls or even
};

class CriticalPath {
 public:
  CriticalPath(std::uint32_t slots, std::uint32_t channels) : slots_(slots), channels_(channels) {}

  void add(PathRound round);
  /// True if all rounds so far are walls or even; then the hops of another even round are not needed.
  bool in_step() const { return in_step_; }

  /// Thread-safe. The saving for M bytes, with α in seconds: exactly zero, or positive. It grows with M, and is
  /// concave. Keeps the lines that it finds; the result does not depend on earlier calls.
  Saving saving(double alpha, double bytes) const;
  /// True if the saving for some size is not zero.
  bool saves(double alpha) const;

  /// The number of hops of all distinct rounds.
  std::size_t hops() const;

 private:
  struct State;
  // The cycles that the hops of a round form if every slot sends one message and receives one.
  struct Cycles {
    std::vector<std::uint32_t> ends;  // by cycle: the end of its hops in the round's list
    std::vector<double> busy;         // the distinct values of Hop::busy
  };

  // The results found for an α: by size, and by cell of sizes.
  struct Known {
    bool saves = false;
    std::map<double, Saving> sizes{};
    std::unordered_map<std::int64_t, std::optional<Saving>> cells{};
  };

  static Cycles cycles_of(std::vector<Hop>& hops, std::uint32_t slots);
  // These require the lock.
  Known& known(double alpha) const;
  std::optional<Saving> line(Known& known, double alpha, double low, std::int64_t cell) const;
  Saving found(Known& known, double alpha, double bytes) const;
  Saving find(double alpha, double bytes) const;
  void pass_wall(State& state) const;
  void pass(State& state, const PathRound& round) const;
  void pass_cycles(State& state, const PathRound& round, const Cycles& cycles) const;

  std::uint32_t slots_, channels_;
  bool in_step_ = true;
  double latency_ = 0, busy_ = 0;  // the sums over all rounds
  std::int64_t length_ = 0;
  std::vector<PathRound> rounds_;
  std::vector<Cycles> cycles_;  // by round; empty if its hops form no cycles
  mutable std::mutex mutex_;
  mutable std::map<double, Known> known_;
};

}  // namespace allreplay
