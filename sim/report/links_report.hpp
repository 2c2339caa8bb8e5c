// Where the time goes on the network, for people and for programs.
#pragma once

#include <string>

#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"
#include "sim/experiment/run.hpp"
#include "sim/training/link_usage.hpp"

namespace allreplay {

/// "100 Gbit/s", "4 Gbit/s to 8 Gbit/s, 1 down".
std::string rates_text(const KindUse& kind);

/// How much the links of each kind are used, and the most used links with who uses them.
std::string links_table(const LinkUsage& usage, const Screen& screen = {});

/// One object: "seconds", "kinds", "hottest".
JsonValue links_json(const LinkUsage& usage);

/// What `run` says of an outcome, as one object.
JsonValue run_json(const Outcome& outcome);

}  // namespace allreplay
