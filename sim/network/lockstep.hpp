// Rings without an event queue. Where every rank sends to one other, always the same and over links that nobody else
// uses, its messages meet only its own: if each has ended when the next begins, all have their links to themselves, and
// a round is an addition for each rank. Where ranks start apart, messages leave one after another anyway. The
// picoseconds are those of message.hpp.
#pragma once

#include <optional>
#include <span>

#include "sim/network/routed_rounds.hpp"

namespace allreplay {

/// When the collective, alone on the network, has ended, if it goes that way; `gamma` in ps per byte. `starts`: by
/// rank, when it starts where ranks start apart; none: together, at 0.
std::optional<Time> lockstep(const RoutedRounds& rounds, std::span<const Link> links, double gamma, double bytes,
                             std::span<const Time> starts = {});

}  // namespace allreplay
