#include "sim/replay/network/lockstep.hpp"

#include <algorithm>
#include <limits>

namespace allreplay {

namespace {

// True if each link has a single sender or receiver, and each slot at most one message per round and direction.
bool never_share_links(const RoutedRounds& rounds, std::size_t links) {
  constexpr std::uint32_t nobody = 0xffffffff, several = nobody - 1;
  std::vector<std::uint32_t> senders(links, nobody), receivers(links, nobody);
  const auto is_shared = [](std::uint32_t& known, std::uint32_t one) {
    if (known != one) known = known == nobody ? one : several;
    return known == several;
  };
  for (const RoutedRound& round : rounds.rounds) {
    if (round.on_channels) return false;
    for (std::uint32_t slot = 0; slot < rounds.slots; ++slot) {
      if (round.receives[slot] > 1 || round.first[slot + 1] > round.first[slot] + 1) return false;
      if (round.first[slot + 1] == round.first[slot]) continue;
      const RoutedMessage& message = round.messages[round.first[slot]];
      if (message.hops == 0) return false;
      for (const LinkId link : rounds.route(message)) {
        const bool sent = is_shared(senders[link], slot), received = is_shared(receivers[link], message.into);
        if (sent && received) return false;
      }
    }
  }
  return true;
}

// A message that shares its links with no other, in all repetitions of its round. Its bytes take longer by the rounding
// remainder of its start-up, unless they wait.
struct Lone {
  std::uint32_t from, into;
  Time delay, takes, takes_after_waiting;
  double reduction;  // ps
  Time free{0};      // when its sender has sent, and its receiver received, the previous message
};

std::vector<Lone> lone_messages(const RoutedRounds& rounds, const RoutedRound& round, std::span<const Link> links,
                                double gamma, double bytes, const StartUps& extra) {
  std::vector<Lone> result;
  for (std::uint32_t slot = 0; slot < rounds.slots; ++slot) {
    if (round.first[slot] == round.first[slot + 1]) continue;
    const RoutedMessage& message = round.messages[round.first[slot]];
    double rate = std::numeric_limits<double>::infinity();  // bytes per ps
    for (const LinkId link : rounds.route(message)) rate = std::min(rate, links[link].bandwidth * 1e-12);
    const auto lasts = [&](double left) { return from_picoseconds(std::max(0.0, left / rate)); };
    const double own = bytes * message.share;
    const StartUp start_up(message, extra);
    result.push_back({slot, message.into, start_up.delay, lasts(own + start_up.carry * rate), lasts(own),
                      message.reduce ? own * gamma : 0, Time(0)});
  }
  return result;
}

struct Reduction {
  Time free{0};
  double carry = 0;

  // The end of a reduction of length `lasts` (ps), of data that arrived at `came`.
  Time after(Time came, double lasts) {
    if (came > free) *this = {came, 0};
    lasts += carry;
    const Time whole = from_picoseconds(lasts);
    *this = {add(free, whole), lasts - static_cast<double>(whole.count())};
    return free;
  }
};

}  // namespace

std::optional<Time> lockstep(const RoutedRounds& rounds, std::span<const Link> links, double gamma, double bytes,
                             std::span<const Time> starts, const StartUps& extra) {
  const bool separate_reductions = rounds.streams == 1 || gamma == 0;  // otherwise streams share a rank's reductions
  if (rounds.rounds.empty() || !separate_reductions || !never_share_links(rounds, links.size())) return std::nullopt;
  // By slot: its start (from), when it has its data (ready), when its last message has left (out) and arrived (in).
  std::vector<Time> from(rounds.slots, Time(0)), out = from, in = from;
  if (!starts.empty())
    for (std::uint32_t slot = 0; slot < rounds.slots; ++slot) from[slot] = starts[slot / rounds.streams];
  std::vector<Time> ready = from, next;
  std::vector<Reduction> reductions(rounds.slots);
  for (const RoutedRound& round : rounds.rounds) {
    std::vector<Lone> messages = lone_messages(rounds, round, links, gamma, bytes, extra);
    for (Lone& message : messages) message.free = std::max(out[message.from], in[message.into]);
    next = ready;
    for (std::int64_t turn = 0; turn < round.repeat; ++turn) {
      for (Lone& message : messages) {
        const Time up = add(ready[message.from], message.delay);
        const bool waits = up < message.free;
        message.free = add(waits ? message.free : up, waits ? message.takes_after_waiting : message.takes);
        Time end = message.free;
        if (message.reduction > 0)
          end = reductions[message.into].after(std::max(end, from[message.into]), message.reduction);
        next[message.into] = std::max(ready[message.into], end);
      }
      ready.swap(next);
    }
    for (const Lone& message : messages) out[message.from] = in[message.into] = message.free;
  }
  return *std::max_element(ready.begin(), ready.end());
}

}  // namespace allreplay
