// The report of a job's useful time under failures and checkpoints.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/jobs/goodput.hpp"

namespace allreplay {

JsonValue goodput_json(const Goodput& goodput);
/// The same with the settings, useful_share, and the throughput that it leaves.
JsonValue goodput_document(const Goodput& goodput, const Reliability& reliability);

/// Reads "goodput" in a document, or in one of its jobs.
const View& goodput_view();
/// Reads run_document() (run_report.hpp) with "goodput".
const View& goodput_of_run_view();

}  // namespace allreplay
