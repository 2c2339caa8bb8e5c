// The report of `allreplay diagnose`: sim/studies/diagnosis/diagnosis.hpp.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/diagnosis/diagnosis.hpp"
#include "sim/studies/diagnosis/fitted_job.hpp"

namespace allreplay {

/// "worker 5 (replica 1, stage 2)".
std::string worker_name(const Diagnosis& known, const WorkerPlace& worker);

/// The seconds of a sharded job's collectives on a cluster, by unit and kind.
using ExpectedTimes = std::map<std::pair<std::uint32_t, OpKind>, double>;
/// Returns the causes that slow the job down. "fitted" has the constants fitted to its collectives and compute times,
/// if asked for.
JsonValue diagnosis_json(const Diagnosis& known, const FittedJob* fitted = nullptr,
                         const ExpectedTimes& expected_s = {});
const View& diagnosis_view();
/// The constants, if there are any.
const View& fitted_job_view();

}  // namespace allreplay
