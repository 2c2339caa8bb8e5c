// What pictures call each strategy, and how they draw it: the same in all of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allreplay {

/// "WFBP" for wfbp; what is no strategy as it stands.
std::string strategy_label(std::string_view name);

/// The place of each series among the looks (series_look()): a strategy's own, whether called by its name or by its
/// label; the others take those that are free, in their order.
std::vector<std::size_t> look_places(const std::vector<std::string>& series);

/// The place of one strategy; none of what is no strategy.
std::optional<std::size_t> look_place(std::string_view strategy);

}  // namespace allreplay
