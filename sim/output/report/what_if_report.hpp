// The reports of `whatif`, and of `whatif --target`.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/experiment/target_search.hpp"
#include "sim/studies/experiment/what_if.hpp"

namespace allreplay {

/// base, rows and together (each with its change, gain, fits, flags and the columns of `run --json`), bound, held_back,
/// left_out.
JsonValue what_if_json(const WhatIf& answer);

/// The same with title, common_flags, exposed_comm_share and notes; a row has own_flags, those beyond the common ones,
/// negligible and tight.
JsonValue what_if_document(const WhatIf& answer);

const View& what_if_view();  ///< of what_if_document()

/// target, base (the columns of `run --json`), with --vary: vary, answer (a value; null: none meets the target),
/// is_least, is_monotone, all_meet, steps; with --cost: fabrics, least_cost, and cheapest, which may be another
/// within the tie (names, or null). Steps and fabrics have value, flags, meets, fits, the target's quantity, cost_usd
/// and parts (with --cost) and the columns of `run --json`, or `impossible`, the reason.
JsonValue target_json(const TargetAnswer& answer, const TargetSearch& search);

/// The same with title, what the sentences say, and notes.
JsonValue target_document(const TargetAnswer& answer, const TargetSearch& search);

const View& target_view();  ///< of target_document()

}  // namespace allreplay
