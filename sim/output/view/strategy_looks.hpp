// The label and the look of each strategy, shared by all pictures.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace allreplay {

/// Returns "WFBP" for wfbp; names that are not strategies are returned unchanged.
std::string strategy_label(std::string_view name);

/// Returns an index for series_look() for each series: the strategy's own if `called` gives a strategy that name; the
/// others take free ones in order.
std::vector<std::size_t> look_places(const std::vector<std::string>& series,
                                     const std::function<std::string(const std::string&)>& called = strategy_label);

}  // namespace allreplay
