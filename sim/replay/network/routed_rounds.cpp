#include "sim/replay/network/routed_rounds.hpp"

#include <algorithm>

namespace allreplay {

namespace {

RoutedMessage routed(const Send& send, std::uint32_t part, const Rounds& rounds, const Topology& topology, Rank from,
                     double alpha, std::vector<LinkId>& links) {
  RoutedMessage message;
  message.parts = part == 0 ? topology.parts() : 0;
  message.to = send.to;
  message.into = send.to * rounds.streams + send.into;
  message.channel = send.channel;
  message.reduce = send.reduce && rounds.reduction_costs;
  message.share = static_cast<double>(send.count) * rounds.piece_share / static_cast<double>(topology.parts());
  message.route = static_cast<std::uint32_t>(links.size());
  topology.route_part(from, send.to, send.stream, part, links);
  message.hops = static_cast<std::uint32_t>(links.size() - message.route);
  double delay = alpha;
  const std::span<const Link> known = topology.links();
  for (std::size_t i = message.route; i < links.size(); ++i) delay += known[links[i]].latency;
  message.start_up = std::max(0.0, delay) * 1e12;
  return message;
}

}  // namespace

RoutedRounds::RoutedRounds(const Rounds& from, const Topology& topology, double alpha, const LevelAlpha& levels)
    : ranks(from.ranks),
      streams(from.streams),
      slots(from.ranks * from.streams),
      channels(from.channels),
      reduction_costs(from.reduction_costs) {
  std::vector<Send> sends;
  for (const Round& round : from.rounds) {
    RoutedRound laid{.repeat = round.repeat, .messages = {}, .first = {}, .receives = std::vector(slots, 0U)};
    laid.first.reserve(slots + 1);
    laid.first.push_back(0);
    for (Rank rank = 0; rank < ranks; ++rank) {
      sends.clear();
      round.sends(rank, 0, sends);
      std::stable_sort(sends.begin(), sends.end(), [](const Send& a, const Send& b) { return a.stream < b.stream; });
      auto send = sends.begin();
      for (std::uint32_t stream = 0; stream < streams; ++stream) {
        for (; send != sends.end() && send->stream == stream; ++send)
          for (std::uint32_t part = 0; part < topology.parts(); ++part) {
            laid.messages.push_back(
                routed(*send, part, from, topology, rank, alpha + levels.beyond(rank, send->to), links));
            laid.messages.back().between = levels.between(rank, send->to);
            ++laid.receives[laid.messages.back().into];
          }
        laid.first.push_back(static_cast<std::uint32_t>(laid.messages.size()));
      }
    }
    laid.on_channels = !laid.messages.empty() && laid.messages.front().channel != no_channel;
    messages += round.repeat * static_cast<std::int64_t>(laid.messages.size() / topology.parts());
    length += round.repeat;
    rounds.push_back(std::move(laid));
  }
  links.shrink_to_fit();
  deliveries = messages;
}

RoutedRounds RoutedRounds::without_messages(std::uint32_t so_many) const {
  RoutedRounds result = *this;
  result.slots = so_many;
  result.rounds.clear();
  result.links.clear();
  result.deliveries = 0;
  return result;
}

}  // namespace allreplay
