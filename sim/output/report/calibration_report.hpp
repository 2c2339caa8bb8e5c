// The report of `allreplay calibrate` for one log.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/calibration/calibration.hpp"

namespace allreplay {

/// `a`, `alpha` and times in seconds; `b`, `beta` and `gamma` in seconds per byte; errors relative. `table`: the bus
/// bandwidth is that of the table, and not of the line.
JsonValue calibration_json(const Calibration& calibration, bool table);
const View& calibration_view();

}  // namespace allreplay
