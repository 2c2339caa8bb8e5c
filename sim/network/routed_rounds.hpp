// A collective's rounds laid on a topology, as `message` needs them: every message of every distinct round with its
// route.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/collective/rounds.hpp"
#include "sim/core/time.hpp"
#include "sim/network/level_alpha.hpp"

namespace allreplay {

/// A message, or where it travels in several equal parts (ecmp) the first of these; the others follow it.
struct RoutedMessage {
  Rank to = 0;
  std::uint32_t into = 0;   ///< the receiver's slot: rank · streams + stream
  std::uint32_t route = 0;  ///< where its links begin in RoutedRounds::links
  std::uint32_t hops = 0;
  std::uint32_t channel = no_channel;
  bool reduce = false;
  std::int64_t copies = 1;  ///< for how many it stands, where they are folded (folding.hpp)
  double share = 0;         ///< of the block's bytes: the part's
  double start_up = 0;      ///< α and the latencies; ps
  bool between = false;     ///< between nodes
  std::uint32_t parts = 1;  ///< of which the first stands for the whole; 0: one of the others
};

/// What messages take to start up besides, inside a node and between nodes; ps.
using StartUps = std::array<double, 2>;

/// A start-up to the nearest picosecond, and what that leaves out.
struct StartUp {
  StartUp(const RoutedMessage& message, const StartUps& besides)
      : StartUp(message.start_up + besides[message.between]) {}

  Time delay;
  double carry;

 private:
  explicit StartUp(double ps) : delay(from_picoseconds(ps)), carry(ps - static_cast<double>(delay.count())) {}
};

struct RoutedRound {
  std::int64_t repeat = 1;
  std::vector<RoutedMessage> messages;  ///< in their parts, by the sender's slot
  std::vector<std::uint32_t> first;     ///< where each slot's messages begin; one more at the end
  std::vector<std::uint32_t> receives;  ///< likewise, into each slot
  bool on_channels = false;             ///< all are, or none

  /// Messages that leave a slot, or come into one, when those of earlier rounds have.
  std::uint32_t in_order_from(std::uint32_t slot) const { return on_channels ? 0 : first[slot + 1] - first[slot]; }
  std::uint32_t in_order_into(std::uint32_t slot) const { return on_channels ? 0 : receives[slot]; }
};

struct RoutedRounds {
  /// Rank i on host i; `alpha` in seconds.
  RoutedRounds(const Rounds& rounds, const Topology& topology, double alpha, const LevelAlpha& levels = {});

  std::span<const LinkId> route(const RoutedMessage& message) const {
    return std::span(links).subspan(message.route, message.hops);
  }

  /// How many messages are on each link of that route, of those for which the message stands; empty: it is one.
  std::span<const std::uint32_t> crowds_on(const RoutedMessage& message) const {
    return crowds.empty() ? std::span<const std::uint32_t>() : std::span(crowds).subspan(message.route, message.hops);
  }
  /// The same with so many slots, and no message yet.
  RoutedRounds without_messages(std::uint32_t slots) const;

  /// Whether messages go several ways.
  bool in_parts() const {
    for (const RoutedRound& round : rounds)
      if (!round.messages.empty()) return round.messages.front().parts != 1;
    return false;
  }

  std::uint32_t ranks, streams, slots, channels;
  bool reduction_costs;
  std::vector<RoutedRound> rounds;
  std::vector<LinkId> links;
  std::vector<std::uint32_t> crowds;
  std::int64_t messages = 0;    ///< of the whole collective,
  std::int64_t deliveries = 0;  ///< and as many as are simulated
  std::int64_t length = 0;      ///< rounds, each repetition counted
};

}  // namespace allreplay
