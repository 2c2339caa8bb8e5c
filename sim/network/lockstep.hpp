// Collectives without an event queue. Where every stream sends and receives at most one message a round, and no link
// carries messages of several senders and of several receivers, a message waits for its own streams alone, since these
// send and receive round by round: each has its links to itself, and a round is a sum and a maximum for each. Rings on
// links of their own are of that kind, and on a star most others. The picoseconds are those of message.hpp.
#pragma once

#include <optional>
#include <span>

#include "sim/network/routed_rounds.hpp"

namespace allreplay {

/// When the collective, alone on the network, has ended, if it goes that way; `gamma` in ps per byte. `starts`: by
/// rank, when it starts where ranks start apart; none: together, at 0. `besides`: what messages take to start up more.
std::optional<Time> lockstep(const RoutedRounds& rounds, std::span<const Link> links, double gamma, double bytes,
                             std::span<const Time> starts = {}, const StartUps& besides = {});

}  // namespace allreplay
