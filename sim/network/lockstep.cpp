#include "sim/network/lockstep.hpp"

#include <algorithm>
#include <limits>

namespace allreplay {

namespace {

bool one_way(const RoutedRounds& rounds, std::size_t links) {
  if (rounds.rounds.empty() || rounds.streams != 1 || rounds.channels > 0) return false;
  const std::vector<RoutedMessage>& all = rounds.rounds[0].messages;
  for (const RoutedRound& round : rounds.rounds) {
    if (round.messages.size() != rounds.slots) return false;
    for (std::uint32_t slot = 0; slot < rounds.slots; ++slot) {
      if (round.first[slot] != slot || round.receives[slot] != 1) return false;
      const auto one = rounds.route(round.messages[slot]), other = rounds.route(all[slot]);
      if (one.empty() || round.messages[slot].delay != all[slot].delay ||
          !std::equal(one.begin(), one.end(), other.begin(), other.end()))
        return false;
    }
  }
  std::vector<bool> used(links, false);
  for (const RoutedMessage& message : all)
    for (const LinkId link : rounds.route(message)) {
      if (used[link]) return false;
      used[link] = true;
    }
  return true;
}

// How long the message's bytes are on their way, alone.
Time lasts(const RoutedMessage& message, std::span<const LinkId> route, std::span<const Link> links, double bytes) {
  double rate = std::numeric_limits<double>::infinity();  // bytes per ps
  for (const LinkId link : route) rate = std::min(rate, links[link].bandwidth * 1e-12);
  const double left = bytes * message.share + message.carry * rate;
  return from_picoseconds(std::max(0.0, left / rate));
}

struct Reduction {
  Time free{0};
  double carry = 0;
};

}  // namespace

std::optional<Time> lockstep(const RoutedRounds& rounds, std::span<const Link> links, double gamma, double bytes,
                             std::span<const Time> starts) {
  if (!one_way(rounds, links.size())) return std::nullopt;
  const std::size_t ranks = rounds.ranks;
  const bool per_rank_start = !starts.empty();
  const std::vector<Time> from =
      per_rank_start ? std::vector<Time>(starts.begin(), starts.end()) : std::vector(ranks, Time(0));
  // By rank: when it sends, and when it may send again, less what a message waits before its bytes flow.
  std::vector<Time> now = from, next(ranks), free(ranks, Time(0)), way(ranks);
  std::vector<Reduction> reductions(ranks);
  bool alone = true;
  for (const RoutedRound& round : rounds.rounds) {
    bool reduces = false;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const RoutedMessage& message = round.messages[rank];
      way[rank] = lasts(message, rounds.route(message), links, bytes);
      reduces |= message.reduce && gamma > 0;
    }
    for (std::int64_t turn = 0; turn < round.repeat; ++turn) {
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const RoutedMessage& message = round.messages[rank];
        alone &= now[rank] >= free[rank];
        free[rank] = add(std::max(now[rank], free[rank]), way[rank]);
        next[message.to] = std::max(add(free[rank], message.delay), from[message.to]);
      }
      if (!alone && !per_rank_start) return std::nullopt;
      for (std::size_t rank = 0; reduces && rank < ranks; ++rank) {
        const RoutedMessage& message = round.messages[rank];
        if (!message.reduce) continue;
        Reduction& reduction = reductions[message.to];
        if (next[message.to] > reduction.free) reduction = {next[message.to], 0};
        const double takes = reduction.carry + bytes * message.share * gamma;
        const Time time = from_picoseconds(takes);
        reduction = {add(reduction.free, time), takes - static_cast<double>(time.count())};
        next[message.to] = reduction.free;
      }
      // What is only copied may be there before an earlier reduction has ended.
      for (std::size_t rank = 0; rank < ranks; ++rank) next[rank] = std::max(next[rank], now[rank]);
      std::swap(now, next);
    }
  }
  return *std::max_element(now.begin(), now.end());
}

}  // namespace allreplay
