// Messages that are alike, simulated once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/network/routed_rounds.hpp"

namespace allreplay {

struct FoldedRounds {
  std::vector<std::shared_ptr<const RoutedRounds>> collectives;
  std::vector<Link> links;
};

/// Slots, links and messages in classes, of which one stands for all: as many messages of a class are on each link of a
/// class, and between each pair of slots of two classes as between any other. Then max-min fair rates are equal within
/// a class, too, and with them all instants, whatever is in flight. Found by refining colours until none falls apart.
/// None where that folds little, and where there are channels. REQUIRES: nothing is reduced at a cost, since a rank
/// reduces what comes at one instant in an order that is not the same everywhere.
std::optional<FoldedRounds> fold(std::span<const std::shared_ptr<const RoutedRounds>> collectives,
                                 std::span<const Link> links);

}  // namespace allreplay
