// The report of `whatif`.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/experiment/what_if.hpp"

namespace allreplay {

/// base, rows and together (each with its change, gain, fits, flags and the columns of `run --json`), bound, held_back,
/// left_out.
JsonValue what_if_json(const WhatIf& answer);

/// The same with title, common_flags, exposed_comm_share and notes; a row has own_flags, those beyond the common ones,
/// negligible and tight.
JsonValue what_if_document(const WhatIf& answer);

const View& what_if_view();  ///< of what_if_document()

}  // namespace allreplay
