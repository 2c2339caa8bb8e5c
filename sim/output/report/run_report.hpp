// The reports of `run` on one outcome, and of a job's useful time under failures and checkpoints.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/experiment/scaling.hpp"
#include "sim/studies/experiment/training_cost.hpp"
#include "sim/studies/jobs/goodput.hpp"

namespace allreplay {

/// All columns of a row, relative efficiency, the cost of a training that is asked about, and the ranks of a pipeline:
/// what `run --json` prints.
JsonValue run_json(const Outcome& outcome, const ScalingReference& reference, const Training& training = {});

/// The same with title, settings (options that are not the strategy's defaults), shares of the iteration and notes.
JsonValue run_document(const Outcome& outcome, const ScalingReference& reference, const Training& training = {});

const View& run_view();  ///< of run_document()

JsonValue goodput_json(const Goodput& goodput);
/// The same with the settings, useful_share, and the throughput that it leaves.
JsonValue goodput_document(const Goodput& goodput, const Reliability& reliability);

/// Reads "goodput" in a document, or in one of its jobs.
const View& goodput_view();
/// Reads run_document() (run_report.hpp) with "goodput".
const View& goodput_of_run_view();

}  // namespace allreplay
