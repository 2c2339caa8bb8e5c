// The report of `run` on one outcome.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/experiment/scaling.hpp"
#include "sim/studies/experiment/training_cost.hpp"

namespace allreplay {

/// All columns of a row, relative efficiency, the cost of a training that is asked about, and the ranks of a pipeline:
/// what `run --json` prints.
JsonValue run_json(const Outcome& outcome, const ScalingReference& reference, const Training& training = {});

/// The same with title, settings (options that are not the strategy's defaults), shares of the iteration and notes.
JsonValue run_document(const Outcome& outcome, const ScalingReference& reference, const Training& training = {});

const View& run_view();  ///< of run_document()

}  // namespace allreplay
