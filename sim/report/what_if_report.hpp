// What the command `whatif` prints.
#pragma once

#include <string>

#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"
#include "sim/experiment/what_if.hpp"

namespace allreplay {

std::string what_if_report(const WhatIf& answer, const Screen& screen = {});

/// One object: "base", "rows", "together", "bound", "left_out"; of each row all columns, its flags and its gain.
JsonValue what_if_json(const WhatIf& answer);

}  // namespace allreplay
