// Computes the time of simple collectives without an event queue. If every stream sends and receives at most one
// message per round, and no link carries messages of several senders and several receivers, a message waits only for
// its own streams, which send and receive round by round. It has its links to itself, and a round costs a sum and a
// maximum per message. This holds for rings on separate links, and for most other collectives on a star. The results
// equal those of message.hpp to the picosecond.
#pragma once

#include <optional>
#include <span>

#include "sim/replay/network/routed_rounds.hpp"

namespace allreplay {

/// The end of a collective that has the network to itself; nothing if it is not of this kind. `gamma` in ps per byte.
/// `starts`: by rank; empty: all start at 0. `extra`: additional start-ups of messages.
std::optional<Time> lockstep(const RoutedRounds& rounds, std::span<const Link> links, double gamma, double bytes,
                             std::span<const Time> starts = {}, const StartUps& extra = {});

}  // namespace allreplay
