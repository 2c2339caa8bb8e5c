// What `run` prints of one outcome.
#pragma once

#include "sim/core/json_value.hpp"
#include "sim/experiment/scaling.hpp"
#include "sim/report/view.hpp"

namespace allreplay {

/// All columns of a row, relative efficiency, the ranks of a pipeline, and: title, settings (options that are not the
/// strategy's defaults), shares of the iteration, notes.
JsonValue run_json(const Outcome& outcome, const ScalingReference& reference);

const View& run_view();  ///< of run_json()

}  // namespace allreplay
