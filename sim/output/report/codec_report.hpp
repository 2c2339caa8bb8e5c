// The report of the command `codec`.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/inputs/compression/codec_measurement.hpp"
#include "sim/output/report/view.hpp"

namespace allreplay {

JsonValue codec_json(const CodecMeasurement& report);

const View& codec_view();

}  // namespace allreplay
