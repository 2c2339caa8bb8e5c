// What pictures call each strategy, and how they draw it: the same in all of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allreplay {

/// "WFBP" for wfbp; what is no strategy as it stands.
std::string strategy_label(std::string_view name);

/// The place of a strategy among the looks (series_look()), which no other has; none of what is no strategy.
std::optional<std::size_t> look_place(std::string_view strategy);

/// The place of each series: of those that `called` says a strategy is called its own; the others take what is free, in
/// their order.
std::vector<std::size_t> look_places(const std::vector<std::string>& series,
                                     const std::function<std::string(const std::string&)>& called = strategy_label);

}  // namespace allreplay
