// A collective's rounds laid on a topology for the fidelity `message`: every message with its route.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/core/time.hpp"
#include "sim/inputs/cluster/topology.hpp"
#include "sim/plans/collective/rounds.hpp"
#include "sim/replay/network/level_alpha.hpp"

namespace allreplay {

/// A message, or one of several equal parts in which it travels (ecmp). The parts follow each other.
struct RoutedMessage {
  Rank to = 0;
  std::uint32_t into = 0;   ///< the receiver's slot: rank · streams + stream
  std::uint32_t route = 0;  ///< the index of its first link in RoutedRounds::links
  std::uint32_t hops = 0;
  std::uint32_t channel = no_channel;
  bool reduce = false;
  std::int64_t copies = 1;  ///< the number of messages that it represents after folding (folding.hpp)
  double share = 0;         ///< the fraction of the block's bytes in this part
  double start_up = 0;      ///< α and the latencies; ps
  bool between = false;     ///< between nodes
  std::uint32_t parts = 1;  ///< in the first part, their number; 0 in the others
};

/// Additional start-ups of messages inside a node and between nodes; ps.
using StartUps = std::array<double, 2>;

/// A start-up rounded to the picosecond, and the remainder.
struct StartUp {
  StartUp(const RoutedMessage& message, const StartUps& extra) : StartUp(message.start_up + extra[message.between]) {}

  Time delay;
  double carry;

 private:
  explicit StartUp(double ps) : delay(from_picoseconds(ps)), carry(ps - static_cast<double>(delay.count())) {}
};

struct RoutedRound {
  std::int64_t repeat = 1;
  std::vector<RoutedMessage> messages;  ///< all parts, by the sender's slot
  std::vector<std::uint32_t> first;     ///< by slot: the index of its first message; one more at the end
  std::vector<std::uint32_t> receives;  ///< by slot: the number of messages into it
  bool on_channels = false;             ///< all messages are on channels; otherwise none is

  /// The number of messages from a slot, or into it, that wait for those of earlier rounds.
  std::uint32_t in_order_from(std::uint32_t slot) const { return on_channels ? 0 : first[slot + 1] - first[slot]; }
  std::uint32_t in_order_into(std::uint32_t slot) const { return on_channels ? 0 : receives[slot]; }
};

struct RoutedRounds {
  /// Rank i is on host i; `alpha` in seconds.
  RoutedRounds(const Rounds& rounds, const Topology& topology, double alpha, const LevelAlpha& levels = {});

  std::span<const LinkId> route(const RoutedMessage& message) const {
    return std::span(links).subspan(message.route, message.hops);
  }

  /// By link of the route: the number of the represented messages that use it. Empty: one.
  std::span<const std::uint32_t> crowds_on(const RoutedMessage& message) const {
    return crowds.empty() ? std::span<const std::uint32_t>() : std::span(crowds).subspan(message.route, message.hops);
  }
  /// A copy with the given number of slots and without messages.
  RoutedRounds without_messages(std::uint32_t slots) const;

  /// True if messages travel in several parts.
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
  std::int64_t messages = 0;    ///< of the whole collective
  std::int64_t deliveries = 0;  ///< the messages that are simulated: fewer if folded
  std::int64_t length = 0;      ///< the number of rounds, counting repetitions
};

}  // namespace allreplay
