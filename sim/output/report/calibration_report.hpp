// The reports of `allreplay calibrate`: of one log, and of several logs or NCCL's model.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/calibration/calibration.hpp"
#include "sim/studies/calibration/fitted_cluster.hpp"

namespace allreplay {

/// `a`, `alpha` and times in seconds; `b`, `beta` and `gamma` in seconds per byte; errors relative. `table`: the bus
/// bandwidth is that of the table, and not of the line.
JsonValue calibration_json(const Calibration& calibration, bool table);
const View& calibration_view();

/// Each log as in calibration_json(), and the levels. Seconds, seconds per byte; NCCL's are factors.
JsonValue levels_json(const LevelOutcome& outcome);
const View& levels_view();

}  // namespace allreplay
