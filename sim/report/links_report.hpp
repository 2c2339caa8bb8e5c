// The use of links: of each kind, and of the hottest ones.
#pragma once

#include "sim/core/json_value.hpp"
#include "sim/report/view.hpp"
#include "sim/training/link_usage.hpp"

namespace allreplay {

JsonValue links_json(const LinkUsage& usage);
const View& links_view();  ///< of links_json()

}  // namespace allreplay
