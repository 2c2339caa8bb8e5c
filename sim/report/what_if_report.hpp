// What `whatif` prints.
#pragma once

#include "sim/core/json_value.hpp"
#include "sim/experiment/what_if.hpp"
#include "sim/report/view.hpp"

namespace allreplay {

/// base, rows and together (each with its change, gain, fits, flags and the columns of `run --json`), bound, held_back,
/// left_out; and title, common_flags, exposed_comm_share, notes. A row has own_flags, those beyond the common ones, and
/// negligible.
JsonValue what_if_json(const WhatIf& answer);

const View& what_if_view();  ///< of what_if_json()

}  // namespace allreplay
