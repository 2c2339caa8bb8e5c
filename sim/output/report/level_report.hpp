// The report of `allreplay calibrate` for several logs, or for NCCL's model.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/calibration/fitted_cluster.hpp"

namespace allreplay {

/// Each log as in calibration_json(), and the levels. Seconds, seconds per byte; NCCL's are factors.
JsonValue levels_json(const LevelOutcome& outcome);
const View& levels_view();

}  // namespace allreplay
