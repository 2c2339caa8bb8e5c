// Every combination of several lists of choices: what sweeps, `compare` and `recommend` expand.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "sim/experiment/request.hpp"

namespace allreplay {

/// One choice: what it sets of a request.
using RequestSetting = std::function<void(Request& request)>;

/// `base` with one setting of each list, the last list fastest. None where they are more than `most`.
std::optional<std::vector<Request>> combinations(const Request& base,
                                                 const std::vector<std::vector<RequestSetting>>& lists,
                                                 std::size_t most);

}  // namespace allreplay
