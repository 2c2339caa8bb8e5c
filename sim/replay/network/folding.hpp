// Replaces messages that behave identically by one that represents them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/replay/network/routed_rounds.hpp"

namespace allreplay {

struct FoldedRounds {
  std::vector<std::shared_ptr<const RoutedRounds>> collectives;
  std::vector<Link> links;
};

/// Divides slots, links and messages into classes: all links of a class carry equally many messages of each class, and
/// all slots of a class send and receive equally many. Then max-min fair rates, and all instants, are equal within a
/// class, whatever is in flight, so that one member represents it. The classes are found by colour refinement. Returns
/// nothing if that saves little, or if there are channels. REQUIRES: reductions cost nothing, since ranks reduce
/// simultaneous arrivals in different orders.
std::optional<FoldedRounds> fold(std::span<const std::shared_ptr<const RoutedRounds>> collectives,
                                 std::span<const Link> links);

}  // namespace allreplay
