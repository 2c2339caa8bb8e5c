// The use of links: of each kind, and of the hottest ones.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/replay/training/link_usage.hpp"

namespace allreplay {

JsonValue links_json(const LinkUsage& usage);
/// The same with the number of links of each kind that are down, and the routing if there is a choice.
JsonValue links_document(const LinkUsage& usage);
const View& links_view();  ///< of links_document()

}  // namespace allreplay
